/// Rules in order. The first that matches a file decides; one that excludes a directory holds for all that is in it,
/// unless an earlier one includes the file. A file that no rule matches is sent, unless there are rules and all of them
/// include.
struct PathRules: Sendable {
    private let rules: [PathRule]
    private let sendsOthers: Bool
    private let ignoresCase: Bool

    init(_ rules: [PathRule], ignoresCase: Bool = false) {
        self.rules = rules
        self.ignoresCase = ignoresCase
        sendsOthers = rules.isEmpty || rules.contains { $0.action == .exclude }
    }

    var isEmpty: Bool { rules.isEmpty }

    /// The first rule that excludes a directory above a file. For the file, it counts like a rule that excludes the
    /// file itself, so that later rules do not matter.
    struct Inherited: Sendable {
        fileprivate var exclusion = Int.max
    }

    /// The rules that hold in a directory.
    ///
    /// - Parameter path: the path from the directory that is pushed.
    /// - Returns: nil if nothing in the directory can be sent.
    func enter(_ path: some StringProtocol, _ above: Inherited) -> Inherited? {
        var inherited = above
        let match = rules.indices.prefix { $0 < above.exclusion }.first {
            rules[$0].action == .exclude && rules[$0].matches(path, isDirectory: true, ignoresCase: ignoresCase)
        }
        inherited.exclusion = match ?? above.exclusion
        let takesOthers = inherited.exclusion == .max && sendsOthers
        return takesOthers || includesAny(below: path, before: inherited.exclusion) ? inherited : nil
    }

    /// Whether an earlier rule can include a file in the directory.
    private func includesAny(below directory: some StringProtocol, before exclusion: Int) -> Bool {
        rules.indices.prefix { $0 < exclusion }.contains { index in
            let rule = rules[index]
            return rule.action == .include && !rule.isForDirectories
                && rule.pattern.canMatch(below: directory, ignoresCase: ignoresCase)
        }
    }

    /// Whether the rules let a file be sent.
    ///
    /// - Parameter path: the path from the directory that is pushed.
    func send(_ path: some StringProtocol, _ above: Inherited = Inherited()) -> Bool {
        let match = rules.indices.prefix { $0 < above.exclusion }.first {
            rules[$0].matches(path, isDirectory: false, ignoresCase: ignoresCase)
        }
        if let match { return rules[match].action == .include }
        return above.exclusion == .max && sendsOthers
    }
}

extension PathRules {
    init(_ selection: Selection) {
        self.init(selection.rules, ignoresCase: selection.ignoresCase)
    }
}
