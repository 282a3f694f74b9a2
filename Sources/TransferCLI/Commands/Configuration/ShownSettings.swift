private import TransferClient
internal import TransferModel

extension Flag {
    /// The values of the flag as JSON: a boolean, a string, an array of strings, or null.
    func json(of values: [String]) -> JSONValue {
        if isSwitch { return .bool(values.last == Setting.on) }
        return isRepeatable ? .array(values.map(JSONValue.string)) : values.last.map(JSONValue.string) ?? .null
    }
}

/// The values of a command's flags, as `transfer config show` prints them.
struct ShownSettings {
    private let arguments: ParsedArguments

    init(_ arguments: ParsedArguments) {
        self.arguments = arguments
    }

    /// The header of the command's table in a configuration file.
    var header: String { arguments.command.tableHeader }

    /// The flags that can be set in other places than the command line.
    var flags: [Flag] { arguments.command.flags.filter { $0.reach != .nowhere } }

    /// The values of a flag, with secrets replaced.
    private func shown(_ flag: Flag) -> [String] {
        if flag.isSwitch { return [arguments.isSet(flag) ? Setting.on : Setting.off] }
        return arguments.values(of: flag).map { value in
            if ArgumentSecrets.isSecret(in: value) { return "(secret)" }
            // It may contain a password at several places.
            if ClusterDatabase.isAddress(value) { return "(secret)" }
            guard flag.value == .server, ServerAddress.isURL(value) else { return value }
            // The description leaves out the password that a URL can contain.
            return ServerAddress(value)?.description ?? "(no URL)"
        }
    }

    /// The line that sets a flag in a configuration file. It is a comment if the flag has no value or cannot be set in
    /// files.
    func text(of flag: Flag) -> String {
        let values = shown(flag)
        guard let last = values.last else { return "# \(flag.name)" }
        let value: TOMLValue =
            if flag.isSwitch { .boolean(last == Setting.on) } else if flag.isRepeatable { .strings(values) } else {
                .string(last)
            }
        return (flag.reach == .environmentAndFiles ? "" : "# ") + "\(flag.name) = \(value.text)"
    }

    /// The origin of a flag's value, for the table.
    func origin(of flag: Flag) -> String {
        switch arguments.setting(of: flag)?.origin {
        case nil: flag.isSwitch || flag.defaultValue != nil ? "default" : "not set"
        case .commandLine, .operand: "command line"
        case .variable(let name): name
        case .file(let place): "\(place)"
        case .remote(let name, let place): "remote \(name), \(place)"
        }
    }

    /// One JSON object for each flag; every member is always present.
    var lines: [JSONLine] {
        flags.map { flag in
            let origin = arguments.setting(of: flag)?.origin
            let place = origin?.place
            return [
                "schema": .string(JSONSchema.setting), "command": .string(arguments.command.name),
                "flag": .string(flag.name),
                "value": flag.json(of: shown(flag)), "origin": .string(origin?.name ?? "default"),
                "variable": origin?.variable.map { .string($0) } ?? .null,
                "file": place.map { .string($0.path) } ?? .null, "line": place.map { .integer($0.line) } ?? .null,
                "remote": origin?.remote.map { .string($0) } ?? .null,
            ]
        }
    }
}

extension Setting.Origin {
    /// The value of `origin` in JSON.
    fileprivate var name: String {
        switch self {
        case .commandLine, .operand: "commandLine"
        case .variable: "environment"
        case .file: "file"
        case .remote: "remote"
        }
    }

    fileprivate var variable: String? { if case .variable(let name) = self { name } else { nil } }

    fileprivate var remote: String? { if case .remote(let name, _) = self { name } else { nil } }

    fileprivate var place: Setting.Place? {
        switch self {
        case .file(let place), .remote(_, let place): place
        case .commandLine, .operand, .variable: nil
        }
    }
}
