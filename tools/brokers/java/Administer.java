import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ExpireDelegationTokenOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.RaftVoterEndpoint;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Changes the cluster as an administrator does: {@code action argument...}, see the methods.
 *
 * <p>The second argument of the program is the listener with SASL, for logins and delegation tokens.
 */
final class Administer extends Commands {
    private static final byte[] SALT = "kafkaspec".getBytes(StandardCharsets.UTF_8);
    private final Admin admin = Admin.create(settings(arguments, arguments.length));

    @Override
    void execute(String[] fields) throws Exception {
        String[] rest = Arrays.copyOfRange(fields, 2, fields.length);
        switch (fields[1]) {
            case "configure" -> AdminTopics.set(
                admin, ConfigResource.Type.valueOf(rest[0]), rest[1], pairs(rest, 2));
            case "partitions" -> admin.createPartitions(
                Map.of(rest[0], NewPartitions.increaseTo(Integer.parseInt(rest[1])))).all().get();
            case "reassign" -> reassign(new TopicPartition(rest[0], 0), rest[1]);
            case "delete" -> admin.deleteTopics(List.of(rest[0])).all().get();
            case "scram" -> admin.alterUserScramCredentials(List.of(
                new UserScramCredentialUpsertion(rest[0],
                    new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096),
                    rest[1].getBytes(StandardCharsets.UTF_8), SALT))).all().get();
            case "unscram" -> admin.alterUserScramCredentials(List.of(
                new UserScramCredentialDeletion(rest[0], ScramMechanism.SCRAM_SHA_256))).all().get();
            case "login" -> login(rest[0], rest[1]);
            case "quota" -> quota(rest);
            case "quotas" -> admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get()
                .forEach((entity, values) -> answer(entity.entries(), values));
            case "allow" -> admin.createAcls(List.of(new AclBinding(
                new ResourcePattern(ResourceType.TOPIC, rest[0], PatternType.PREFIXED),
                new AccessControlEntry(
                    rest[1], "*", AclOperation.READ, AclPermissionType.ALLOW)))).all().get();
            case "disallow" -> admin.deleteAcls(List.of(new AclBindingFilter(
                new ResourcePatternFilter(ResourceType.TOPIC, rest[0], PatternType.PREFIXED),
                AccessControlEntryFilter.ANY))).all().get();
            case "token" -> token(rest[0], rest[1]);
            case "feature" -> admin.updateFeatures(
                Map.of(rest[0], new FeatureUpdate(Short.parseShort(rest[1]),
                    FeatureUpdate.UpgradeType.valueOf(rest[2]))),
                new org.apache.kafka.clients.admin.UpdateFeaturesOptions()).all().get();
            case "group" -> admin.deleteConsumerGroups(List.of(rest[0])).all().get();
            case "voter" -> admin.addRaftVoter(Integer.parseInt(rest[0]), Uuid.fromString(rest[1]),
                Set.of(new RaftVoterEndpoint(
                    "CONTROLLER", rest[2], Integer.parseInt(rest[3])))).all().get();
            case "unvote" -> admin.removeRaftVoter(
                Integer.parseInt(rest[0]), Uuid.fromString(rest[1])).all().get();
            case "unregister" -> admin.unregisterBroker(Integer.parseInt(rest[0])).all().get();
            case "unregister-controller" -> call(  // from 4.4 on
                call(call(admin, "unregisterController", Integer.valueOf(rest[0])), "all"), "get");
            default -> throw new IllegalArgumentException(fields[1]);
        }
    }

    /** Moves a partition to these brokers, and waits until it is there. */
    private void reassign(TopicPartition partition, String brokers) throws Exception {
        List<Integer> replicas =
            Arrays.stream(brokers.split(",")).map(Integer::valueOf).collect(Collectors.toList());
        admin.alterPartitionReassignments(
            Map.of(partition, Optional.of(new NewPartitionReassignment(replicas)))).all().get();
        while (!admin.listPartitionReassignments().reassignments().get().isEmpty()) {
            Thread.sleep(100);
        }
    }

    /** Sets a client quota, or removes it: {@code type name quota value}, "-" for no value. */
    private void quota(String[] fields) throws Exception {
        Map<String, String> entity = new HashMap<>();
        entity.put(fields[0], fields[1].equals("<default>") ? null : fields[1]);
        Double value = fields[3].equals("-") ? null : Double.valueOf(fields[3]);
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(new ClientQuotaEntity(entity),
            List.of(new ClientQuotaAlteration.Op(fields[2], value))))).all().get();
    }

    /** Logs in by SCRAM and asks which cluster it is; fails with a wrong password. */
    private static void login(String user, String password) throws Exception {
        try (Admin own = secured("SCRAM-SHA-256", "scram.ScramLoginModule", user, password)) {
            answer(own.describeCluster().clusterId().get());
        }
    }

    /** Makes a client that logs in. */
    private static Admin secured(String mechanism, String module, String user, String password) {
        Map<String, Object> settings = new HashMap<>(settings(arguments, arguments.length));
        settings.put("bootstrap.servers", arguments[1]);
        settings.put("security.protocol", "SASL_PLAINTEXT");
        settings.put("sasl.mechanism", mechanism);
        settings.put("sasl.jaas.config",
            "org.apache.kafka.common.security." + module + " required username=\"" + user
            + "\" password=\"" + password + "\";");
        return Admin.create(settings);
    }

    /** Makes a delegation token and renews it; a second one is expired at once. */
    private static void token(String user, String password) throws Exception {
        try (Admin own = secured("PLAIN", "plain.PlainLoginModule", user, password)) {
            own.renewDelegationToken(made(own, 1)).expiryTimestamp().get();
            own.expireDelegationToken(made(own, 2),
                new ExpireDelegationTokenOptions().expiryTimePeriodMs(-1)).expiryTimestamp().get();
        }
    }

    /** Makes a delegation token, and waits until the broker knows it beside the others. */
    private static byte[] made(Admin own, int known) throws Exception {
        byte[] hmac = own.createDelegationToken().delegationToken().get().hmac();
        while (own.describeDelegationToken().delegationTokens().get().size() < known) {
            Thread.sleep(100);
        }
        return hmac;
    }
}
