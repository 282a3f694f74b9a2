private import TransferClient
private import TransferModel

/// `transfer remote list`: prints the servers that have names.
struct RemoteListCommand {
    private let editor: ConfigurationEditor?
    private let isJSON: Bool
    private let onlyNames: Bool

    /// - Throws: `UsageError` for flags that choose two forms of output.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        editor = Environment.configurationFile.map { ConfigurationEditor($0) }
        (isJSON, onlyNames) = (arguments[Self.json], arguments[Self.names])
        guard !isJSON || !onlyNames else { throw arguments.error("--json and --names exclude each other") }
    }

    func run() -> ExitCode {
        do throws(ConfigurationFault) {
            show(try editor?.remotes() ?? [])
            return .success
        } catch {
            return AccessOutput.fail(error.message)
        }
    }

    private func show(_ remotes: [Remote]) {
        if onlyNames {
            StandardStream.output.write(remotes.map { $0.name + "\n" }.joined())
        } else if isJSON {
            StandardStream.output.write(remotes.map { Self.json(of: $0).text + "\n" }.joined())
        } else {
            AccessOutput.table(
                remotes.map { [$0.name, $0.address.description.escapedForDisplay, Self.settings(of: $0)] })
        }
    }

    private static func settings(of remote: Remote) -> String {
        let pairs = remote.settings.sorted { $0.key < $1.key }
        return pairs.map { "\($0.key)=\($0.value.values.joined(separator: ","))".escapedForDisplay }
            .joined(separator: " ")
    }

    private static func json(of remote: Remote) -> JSONLine {
        var line: JSONLine = ["schema": .string(JSONSchema.remote)]
        line.append("name", .string(remote.name))
        line.append("address", .string(remote.address.description))
        var settings = JSONLine()
        for (key, setting) in remote.settings.sorted(by: { $0.key < $1.key }) {
            settings.append(key, Commands.remoteFlags.first { $0.name == key }?.json(of: setting.values) ?? .null)
        }
        line.append("settings", .object(settings))
        return line
    }
}

extension RemoteListCommand: ProgramCommand {
    private static let json = Flag(name: "json", help: "Print one JSON object per line for every remote.").isOn

    private static let names = Flag(
        name: "names", help: "Print only the names.", details: "Shell completions use this."
    ).isOn

    static let definition = Command(
        name: "remote list", summary: "List the named servers.",
        description: [Remote.about, "Prints name, address and settings of each, one per line."],
        flags: [json.flag, names.flag, .insecurePermissions, .help],
        examples: [.init(caption: "List the remotes", line: "transfer remote list")], outcomes: Remote.outcomes)
}
