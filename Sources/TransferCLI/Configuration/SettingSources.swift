/// The sources of settings besides the arguments.
package struct SettingSources: Sendable {
    /// Returns a variable of the environment; nil if it is unset or empty.
    let variable: @Sendable (String) -> String?

    /// The path of the user's configuration file, which need not exist; nil if the user has no configuration folder.
    let userFile: String?

    /// Returns the content of a file; nil if it does not exist.
    let content: @Sendable (String) throws(ConfigurationFault) -> [UInt8]?

    /// Sources without variables and files.
    static let none = SettingSources(environment: [:])

    package init(
        variable: @escaping @Sendable (String) -> String?, userFile: String?,
        content: @escaping @Sendable (String) throws(ConfigurationFault) -> [UInt8]?
    ) {
        (self.variable, self.userFile, self.content) = (variable, userFile, content)
    }

    /// Makes sources from variables, and from the path and the content of the user's file.
    package init(environment: [String: String], file: (path: String, content: [UInt8])? = nil) {
        self.init(
            variable: { name in environment[name].flatMap { $0.isEmpty ? nil : $0 } }, userFile: file?.path,
            content: { path in path == file?.path ? file?.content : nil })
    }

    /// - Parameter isNeeded: whether a missing file is an error.
    func file(_ path: String, isNeeded: Bool) throws(ConfigurationFault) -> ConfigurationFile? {
        guard let content = try content(path) else {
            guard isNeeded else { return nil }
            throw ConfigurationFault(path, "there is no such file")
        }
        return try ConfigurationFile(content, path: path, home: variable("HOME"))
    }
}
