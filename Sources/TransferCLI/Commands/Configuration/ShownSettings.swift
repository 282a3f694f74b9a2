private import TransferClient
internal import TransferModel

extension Flag {
    /// Values as JSON has them.
    func json(of values: [String]) -> JSONValue {
        if isSwitch { return .bool(values.last == Setting.on) }
        return isRepeatable ? .array(values.map(JSONValue.string)) : values.last.map(JSONValue.string) ?? .null
    }
}

/// What the flags of a command are set to, as `transfer config show` shows it.
struct ShownSettings {
    private let arguments: ParsedArguments

    init(_ arguments: ParsedArguments) {
        self.arguments = arguments
    }

    /// The header of the command's table in a file.
    var header: String { arguments.command.tableHeader }

    /// The flags that can be set.
    var flags: [Flag] { arguments.command.flags.filter { $0.reach != .nowhere } }

    /// What a flag is set to; a pairing code is nobody's to see.
    private func shown(_ flag: Flag) -> [String] {
        if flag.isSwitch { return [arguments.isSet(flag) ? Setting.on : Setting.off] }
        return arguments.values(of: flag).map { value in
            if ArgumentSecrets.isSecret(in: value) { return "(secret)" }
            guard flag.value == .server, ServerAddress.isURL(value) else { return value }
            // A URL can have a password in it.
            return ServerAddress(value)?.description ?? "(no URL)"
        }
    }

    /// The line of a flag as it stands in a file; a comment where there is no value, or none of a file.
    func text(of flag: Flag) -> String {
        let values = shown(flag)
        guard let last = values.last else { return "# \(flag.name)" }
        let value: TOMLValue =
            if flag.isSwitch { .boolean(last == Setting.on) } else if flag.isRepeatable { .strings(values) } else {
                .string(last)
            }
        return (flag.reach == .environmentAndFiles ? "" : "# ") + "\(flag.name) = \(value.text)"
    }

    /// Where a flag was set, for people.
    func origin(of flag: Flag) -> String {
        switch arguments.setting(of: flag)?.origin {
        case nil: flag.isSwitch || flag.defaultValue != nil ? "default" : "not set"
        case .commandLine, .operand: "command line"
        case .variable(let name): name
        case .file(let place): "\(place)"
        case .remote(let name, let place): "remote \(name), \(place)"
        }
    }

    /// One object for each flag; every key is always there.
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
    /// As JSON has it.
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
