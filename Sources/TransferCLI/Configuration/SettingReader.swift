private import TransferClient
private import TransferModel
private import TransferSystem

/// Converts the tables of a configuration file to settings of flags.
struct SettingReader {
    let path: String

    /// The home directory for `~`; nil if HOME is not set.
    let home: String?

    // MARK: Tables

    /// The command to which a table belongs, such as `[push]` or `[access.token.create]`.
    func command(of table: TOMLDocument.Table) throws(ConfigurationFault) -> Command {
        let name = table.path.joined(separator: " ")
        let commands = Commands.all.filter { $0.hasSettings && !$0.name.hasPrefix(Remote.table + " ") }
        guard let command = commands.first(where: { $0.name == name }) else {
            let suggestion = Suggestion.phrase(for: name, among: commands.map(\.name) + [Remote.table])
            throw ConfigurationFault(
                place(table.line), "there are no settings for '\(name.escapedForDisplay)'" + suggestion)
        }
        return command
    }

    /// The settings in a command's table.
    func settings(_ table: TOMLDocument.Table) throws(ConfigurationFault) -> [String: Setting] {
        let flags = try command(of: table).flags
        return try settings(table.entries, flags) { .file($0) }
    }

    /// The settings before the first table, which several commands share. Unknown keys are ignored here and refused
    /// elsewhere.
    func shared(_ table: TOMLDocument.Table) throws(ConfigurationFault) -> [String: Setting] {
        var settings: [String: Setting] = [:]
        for entry in table.entries {
            guard let flag = Commands.sharedFlags.first(where: { $0.sharedKey == entry.key }) else { continue }
            let place = place(entry.line)
            let values = try values(entry.value, of: flag, as: entry.key, place)
            settings[entry.key] = Setting(values: values, origin: .file(place))
        }
        return settings
    }

    /// - Parameter table: a table below `remote`.
    func remote(_ table: TOMLDocument.Table) throws(ConfigurationFault) -> Remote {
        let name = table.path[1]
        guard table.path.count == 2, Remote.isName(name) else {
            throw ConfigurationFault(
                place(table.line),
                "'\(table.path.dropFirst().joined(separator: ".").escapedForDisplay)' is not a valid "
                    + "name of a remote; use letters, digits, - and _")
        }
        guard let entry = table.entries.first(where: { $0.key == Remote.addressKey }) else {
            throw ConfigurationFault(place(table.line), "the remote '\(name)' has no address")
        }
        guard case .string(let text) = entry.value, let address = ServerAddress(text) else {
            throw ConfigurationFault(
                place(entry.line), "the address is not a server; give \"HOST[:PORT][/FOLDER]\" or a URL")
        }
        let settings = try settings(table.entries, Commands.remoteFlags, Remote.addressKey) { .remote(name, $0) }
        return Remote(name: name, address: address, place: place(table.line), settings: settings)
    }

    private func place(_ line: Int) -> Setting.Place { Setting.Place(path: path, line: line) }

    // MARK: Keys and values

    /// - Parameter own: a key that the table may have although it is not a flag.
    private func settings(
        _ entries: [TOMLDocument.Entry], _ flags: [Flag], _ own: String? = nil,
        _ origin: (Setting.Place) -> Setting.Origin
    ) throws(ConfigurationFault) -> [String: Setting] {
        let known = flags.filter { $0.reach == .environmentAndFiles }
        var settings: [String: Setting] = [:]
        for entry in entries where entry.key != own {
            let place = place(entry.line)
            guard let flag = known.first(where: { $0.name == entry.key }) else {
                let suggestion = Suggestion.phrase(for: entry.key, among: known.map(\.name) + [own].compactMap(\.self))
                throw ConfigurationFault(place, "unknown key '\(entry.key.escapedForDisplay)'" + suggestion)
            }
            let values = try values(entry.value, of: flag, as: flag.name, place)
            for value in values {
                guard let fault = flag.fault(of: value, from: flag.name) else { continue }
                throw ConfigurationFault(place, fault)
            }
            settings[flag.name] = Setting(values: values, origin: origin(place))
        }
        return settings
    }

    private func values(
        _ value: TOMLValue, of flag: Flag, as name: String, _ place: Setting.Place
    ) throws(ConfigurationFault) -> [String] {
        let texts: [String]
        switch value {
        case .boolean(let isOn) where flag.isSwitch: return [isOn ? Setting.on : Setting.off]
        case .string(let text) where !flag.isSwitch: texts = [text]
        case .integer(let number) where !flag.isSwitch: texts = ["\(number)"]
        case .strings(let strings) where flag.isRepeatable: texts = strings
        default: throw ConfigurationFault(place, "'\(name)' takes \(Self.kind(of: flag))")
        }
        // Arguments on a command line cannot contain NUL, and system calls would end a path at it.
        guard !texts.contains(where: { $0.utf8.contains(0) }) else {
            throw ConfigurationFault(place, "'\(name)' contains a NUL byte")
        }
        guard flag.value.isPath else { return texts }
        // Without this check, `~` would be interpreted as a folder beside the file.
        guard home != nil || !texts.contains(where: { $0.utf8.starts(with: "~/".utf8) }) else {
            throw ConfigurationFault(
                place, "'\(name)' is a path below the home directory, and HOME is not set; give the whole path")
        }
        return texts.map(resolved)
    }

    private static func kind(of flag: Flag) -> String {
        if flag.isSwitch { return "true or false" }
        return flag.isRepeatable ? "a string in quotes, or several between [ and ]" : "a string in quotes, or a number"
    }

    /// Resolves a path relative to the folder of the file, or to the home directory.
    private func resolved(_ text: String) -> String {
        if text.utf8.starts(with: "~/".utf8), let home { return home + "/" + Substring(text.utf8.dropFirst(2)) }
        if text.utf8.starts(with: "/".utf8) || text == "-" || text.isEmpty { return text }
        return OwnFile.folder(of: path) + "/" + text
    }
}
