internal import TransferProtocol

extension Flag {
    /// Values as JSON has them.
    func json(of values: [String]) -> JSONValue {
        if isSwitch { return .bool(values.last == Setting.on) }
        return isRepeatable ? .array(values.map(JSONValue.string)) : values.last.map(JSONValue.string) ?? .null
    }
}

extension ParsedArguments {
    /// The flags that can be set.
    var shownFlags: [Flag] { command.flags.filter { $0.reach != .nowhere } }

    /// What a flag is set to; a pairing code is nobody's to see.
    private func shown(_ flag: Flag) -> [String] {
        if flag.isSwitch { return [isSet(flag.name) ? Setting.on : Setting.off] }
        return strings(flag.name).map { ArgumentSecrets.isSecret(in: $0) ? "(secret)" : $0 }
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
        switch setting(flag.name)?.origin {
        case nil: flag.isSwitch || flag.defaultValue != nil ? "default" : "not set"
        case .commandLine: "command line"
        case .variable(let name): name
        case .file(let place): "\(place)"
        case .remote(let name, let place): "remote \(name), \(place)"
        }
    }

    /// One object for each flag.
    var settingLines: [JSONLine] {
        shownFlags.map { flag in
            var line = JSONLine()
            line.append("command", .string(command.name))
            line.append("flag", .string(flag.name))
            line.append("value", flag.json(of: shown(flag)))
            switch setting(flag.name)?.origin {
            case nil: line.append("origin", "default")
            case .commandLine: line.append("origin", "commandLine")
            case .variable(let name):
                line.append("origin", "environment")
                line.append("variable", .string(name))
            case .file(let place): line.add("file", place)
            case .remote(let name, let place):
                line.add("remote", place)
                line.append("remote", .string(name))
            }
            return line
        }
    }
}

extension JSONLine {
    fileprivate mutating func add(_ origin: JSONValue, _ place: Setting.Place) {
        append("origin", origin)
        append("file", .string(place.path))
        append("line", .integer(place.line))
    }
}
