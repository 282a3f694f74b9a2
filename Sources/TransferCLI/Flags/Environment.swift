internal import Glibc

/// Reads the environment of this process.
enum Environment {
    /// The variables that a command's flags name, as far as they are set and UTF-8.
    static func values(for command: Command) -> [String: String] {
        var values: [String: String] = [:]
        for variable in command.flags.compactMap(\.environment) {
            if let text = getenv(variable) { values[variable] = String(validatingCString: text) }
        }
        return values
    }
}
