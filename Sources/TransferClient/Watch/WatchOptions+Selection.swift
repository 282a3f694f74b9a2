extension WatchOptions {
    /// What is sent, with the rules that a watch has by itself.
    ///
    /// - Parameter target: a folder that may be in the directory and is left out.
    func selection(in directory: String, without target: MoveTarget?) throws(TransferFailure) -> Selection {
        var selection = selection
        let onlyIncludes = !selection.rules.isEmpty && selection.rules.allSatisfy { $0.action == .include }
        let hidden = target?.relative(to: directory).map { ["/\(Self.literal($0))/"] } ?? []
        // With another rule that excludes, what no rule includes would be sent.
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

    /// A pattern that matches nothing but the path.
    private static func literal(_ path: String) -> String {
        path.unicodeScalars.reduce(into: "") { pattern, scalar in
            if "*?[]\\".unicodeScalars.contains(scalar) { pattern.unicodeScalars.append("\\") }
            pattern.unicodeScalars.append(scalar)
        }
    }
}
