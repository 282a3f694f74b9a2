private import TransferClient
private import TransferModel
private import TransferSystem

/// The settings in a configuration file, checked against the tables of commands and flags.
package struct ConfigurationFile: Sendable {
    /// The name of the user's file, in their configuration folder.
    package static let name = "config.toml"

    /// The most bytes of a file; thousands of remotes fit.
    package static let longest = 1 << 20

    let path: String

    /// The remotes, in the order of the file.
    package private(set) var remotes: [Remote] = []

    /// Settings by the names of commands and flags.
    private var settings: [String: [String: Setting]] = [:]

    /// Settings before the first table, by their keys.
    private var shared: [String: Setting] = [:]

    /// - Parameter home: the home directory for `~`; nil if HOME is not set.
    package init(_ content: [UInt8], path: String, home: String?) throws(ConfigurationFault) {
        self.path = path
        let reader = SettingReader(path: path, home: home)
        for table in try Self.document(content, path: path).tables {
            switch table.path {
            case []:
                shared = try reader.shared(table)
                try Self.refuse(table.entries.first { shared[$0.key] == nil }, path)
            case [Remote.table]: try Self.refuse(table.entries.first, path)
            case _ where table.path.first == Remote.table: remotes.append(try reader.remote(table))
            default: settings[try reader.command(of: table).name] = try reader.settings(table)
            }
        }
    }

    /// Parses the file without checking its keys.
    static func document(_ content: [UInt8], path: String) throws(ConfigurationFault) -> TOMLDocument {
        do throws(TOMLFault) {
            return try TOMLDocument(content)
        } catch {
            throw ConfigurationFault(path, error)
        }
    }

    /// Refuses keys that belong neither to a command nor to a remote.
    private static func refuse(_ entry: TOMLDocument.Entry?, _ path: String) throws(ConfigurationFault) {
        guard let entry else { return }
        throw ConfigurationFault(
            Setting.Place(path: path, line: entry.line),
            "'\(entry.key.escapedForDisplay)' belongs to no command and no remote; put it below a header "
                + "such as [push]"
        )
    }

    /// The settings of a command's flags, by their names.
    func settings(of command: Command) -> [String: Setting] {
        var settings = settings[command.name] ?? [:]
        for flag in command.flags where settings[flag.name] == nil {
            settings[flag.name] = flag.sharedKey.flatMap { shared[$0] }
        }
        return settings
    }

    func remote(named name: String) -> Remote? { remotes.first { $0.name == name } }
}
