/// What commands are told beside their arguments.
package struct SettingSources: Sendable {
    /// A variable of the environment; nothing for one that is empty.
    let variable: @Sendable (String) -> String?

    /// The user's configuration file, whether it is there or not; nothing for a user who can have none.
    let userFile: String?

    /// The content of a file; nothing where there is none.
    let content: @Sendable (String) throws(ConfigurationFault) -> [UInt8]?

    /// Nothing at all.
    static let none = SettingSources(environment: [:])

    package init(
        variable: @escaping @Sendable (String) -> String?, userFile: String?,
        content: @escaping @Sendable (String) throws(ConfigurationFault) -> [UInt8]?
    ) {
        (self.variable, self.userFile, self.content) = (variable, userFile, content)
    }

    /// An environment and one file, for the user's configuration.
    package init(environment: [String: String], file: (path: String, content: [UInt8])? = nil) {
        self.init(
            variable: { name in environment[name].flatMap { $0.isEmpty ? nil : $0 } }, userFile: file?.path,
            content: { path in path == file?.path ? file?.content : nil })
    }

    /// - Parameter isNeeded: whether it is an error when there is none.
    func file(_ path: String, isNeeded: Bool) throws(ConfigurationFault) -> ConfigurationFile? {
        guard let content = try content(path) else {
            guard isNeeded else { return nil }
            throw ConfigurationFault(path, "there is no such file")
        }
        return try ConfigurationFile(content, path: path, home: variable("HOME"))
    }
}
