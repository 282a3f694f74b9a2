private import TransferModel

/// Finds the values of flags that the arguments do not set. The sources in order of precedence are the command line,
/// the environment, the remote, the file of `--config`, and the user's file.
struct SettingResolver {
    private let command: Command
    private let sources: SettingSources

    /// The settings by the names of flags.
    private(set) var settings: [String: Setting]

    /// The names of all remotes.
    private(set) var remotes: [String] = []

    /// - Parameter given: the settings of the command line.
    init(_ command: Command, _ given: [String: Setting], _ sources: SettingSources) {
        (self.command, settings, self.sources) = (command, given, sources)
    }

    /// - Returns: the remote that the command uses; nil if the server is not a remote.
    mutating func resolve() throws(UsageError) -> Remote? {
        for flag in command.flags where settings[flag.name] == nil { settings[flag.name] = try variable(of: flag) }
        guard command.hasSettings else { return nil }
        let files = try files()
        remotes = files.flatMap { $0.remotes.map(\.name) }
        let remote = remote(in: files)
        if let remote { add(remote.settings) }
        for file in files { add(file.settings(of: command)) }
        return remote
    }

    private mutating func add(_ more: [String: Setting]) {
        for flag in command.flags where settings[flag.name] == nil { settings[flag.name] = more[flag.name] }
    }

    /// The setting in the environment. This is not called if the command line sets the flag, so that an invalid
    /// variable then has no effect.
    private func variable(of flag: Flag) throws(UsageError) -> Setting? {
        for name in command.variables(of: flag) {
            guard let text = sources.variable(name) else { continue }
            let values = flag.isRepeatable ? text.split(separator: "\n").map(String.init) : [text]
            for value in values {
                if let fault = flag.fault(of: value, from: name) { throw UsageError(fault, command: command) }
            }
            guard !flag.isSwitch || [Setting.on, Setting.off].contains(text) else {
                throw UsageError("\(name) must be true or false, not '\(text.escapedForDisplay)'", command: command)
            }
            return Setting(values: values, origin: .variable(name))
        }
        return nil
    }

    private func files() throws(UsageError) -> [ConfigurationFile] {
        let named = command.flag(named: Flag.config.name).flatMap { settings[$0.name]?.values.last }
        do throws(ConfigurationFault) {
            let first = try named.flatMap { (path) throws(ConfigurationFault) in
                try sources.file(path, isNeeded: true)
            }
            let second = try sources.userFile.flatMap { (path) throws(ConfigurationFault) in
                path == named ? nil : try sources.file(path, isNeeded: false)
            }
            return [first, second].compactMap(\.self)
        } catch {
            throw UsageError(error.message, command: command)
        }
    }

    /// The remote that the command uses, from the first file that contains it.
    private func remote(in files: [ConfigurationFile]) -> Remote? {
        guard let flag = command.serverFlag else { return nil }
        let given = settings[flag.name] ?? files.lazy.compactMap { $0.settings(of: command)[flag.name] }.first
        guard let text = given?.values.last ?? flag.defaultValue,
            let reference = RemoteReference(ServerPlace.canonical(text))
        else {
            return nil
        }
        return files.lazy.compactMap { $0.remote(named: reference.name) }.first
    }
}
