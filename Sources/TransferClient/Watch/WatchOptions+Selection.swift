extension WatchOptions {
    /// The selection of the options, with the rules that every watch has.
    ///
    /// - Parameter target: the folder that sources are moved to. It may be in the directory, and is then left out.
    func selection(in directory: String, without target: MoveTarget?) throws(TransferFailure) -> Selection {
        var selection = selection
        let onlyIncludes = !selection.rules.isEmpty && selection.rules.allSatisfy { $0.action == .include }
        let hidden = target?.relative(to: directory).map { ["/\(Self.literal($0))/"] } ?? []
        // `hidden` is a rule that excludes, and with such a rule everything that no rule matches would be sent. If the
        // user's rules only include, a last rule therefore excludes everything.
        let behind = onlyIncludes ? (hidden.isEmpty ? [] : ["*"]) : Self.temporaryNames
        do throws(PathRule.Fault) {
            selection.rules =
                try Self.exclusions(hidden) + selection.rules + Self.exclusions(behind)
        } catch {
            throw TransferFailure(reason: .unsupported, message: error.message)
        }
        return selection
    }

    private static func exclusions(_ patterns: [String]) throws(PathRule.Fault) -> [PathRule] {
        var rules: [PathRule] = []
        for pattern in patterns { rules.append(try PathRule(.exclude, pattern)) }
        return rules
    }

    /// A pattern that matches this path only.
    private static func literal(_ path: String) -> String {
        path.unicodeScalars.reduce(into: "") { pattern, scalar in
            if "*?[]\\".unicodeScalars.contains(scalar) { pattern.unicodeScalars.append("\\") }
            pattern.unicodeScalars.append(scalar)
        }
    }
}
