internal import Glibc

/// Reads the environment of this process.
enum Environment {
    /// One variable, if it is set, not empty and UTF-8.
    static func value(of variable: String) -> String? {
        getenv(variable).flatMap { String(validatingCString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The variables that a command's flags name, as far as they are set and UTF-8.
    static func values(for command: Command) -> [String: String] {
        var values: [String: String] = [:]
        for variable in command.flags.compactMap(\.environment) {
            if let text = getenv(variable) { values[variable] = String(validatingCString: text) }
        }
        return values
    }
}
