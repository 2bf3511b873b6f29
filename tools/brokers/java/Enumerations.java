import java.lang.reflect.Field;
import java.lang.reflect.Modifier;

/**
 * {@code class}: answers the number, the name and the text of each constant of an enumeration; the
 * text is the name where the class has no other.
 */
final class Enumerations extends Commands {
    @Override
    void execute(String[] fields) throws Exception {
        for (Object constant : Class.forName(fields[1]).getEnumConstants()) {
            String name = ((Enum<?>) constant).name();
            Object number = null;
            Object text = name;
            for (Field field : ((Enum<?>) constant).getDeclaringClass().getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    field.setAccessible(true);
                    Object value = field.get(constant);
                    if (number == null && value instanceof Number) {
                        number = value;
                    } else if (value instanceof String) {
                        text = value;
                    }
                }
            }
            answer(number, name, text);
        }
    }
}
