import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;

/**
 * {@code class}: answers the name and the value of each constant that is a number, a truth or a
 * text; of an enumeration the numbers and texts of each constant; of a Scala object its fields.
 */
final class Constants extends Commands {
    @Override
    void execute(String[] fields) throws Exception {
        Class<?> type;
        try {
            type = Class.forName(fields[1]);
            show(type);
        } catch (LinkageError | RuntimeException problem) {
            answer("", problem.getClass().getSimpleName());
        }
    }

    private static void show(Class<?> type) throws Exception {
        Object module = null;
        for (Field field : type.getDeclaredFields()) {
            if (field.getName().equals("MODULE$")) {
                field.setAccessible(true);
                module = field.get(null);
            }
        }
        for (Field field : type.getDeclaredFields()) {
            boolean of = Modifier.isStatic(field.getModifiers());
            if (Modifier.isFinal(field.getModifiers()) && (of || module != null)
                && plain(field.getType())) {
                field.setAccessible(true);
                answer(field.getName(), String.valueOf(field.get(of ? null : module)));
            }
        }
        if (type.isEnum()) {
            for (Object constant : type.getEnumConstants()) {
                List<String> values = new ArrayList<>();
                for (Field field : type.getDeclaredFields()) {
                    if (!Modifier.isStatic(field.getModifiers()) && plain(field.getType())) {
                        field.setAccessible(true);
                        values.add(field.getName() + "=" + field.get(constant));
                    }
                }
                answer(((Enum<?>) constant).name(), String.join(", ", values));
            }
        }
    }

    private static boolean plain(Class<?> type) {
        return type.isPrimitive() || type == String.class
            || Number.class.isAssignableFrom(type) || type == Boolean.class;
    }
}
