private import TransferModel

/// Finds out what the flags of a command are set to that its arguments don't give. Earlier ones win: the command line, the
/// environment, the remote, the file of `--config`, the user's file.
struct SettingResolver {
    private let command: Command
    private let sources: SettingSources

    /// By the names of flags.
    private(set) var settings: [String: Setting]

    /// The names of all remotes.
    private(set) var remotes: [String] = []

    /// - Parameter given: by the command line.
    init(_ command: Command, _ given: [String: Setting], _ sources: SettingSources) {
        (self.command, settings, self.sources) = (command, given, sources)
    }

    /// - Returns: the remote that the command is about.
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

    /// A wrong variable does no harm where its flag is given.
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

    /// The first file that has a remote of that name tells about it.
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
