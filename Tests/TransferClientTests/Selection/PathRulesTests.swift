import Testing

@testable import TransferClient

@Suite struct PathRulesTests {
    private static let tree = [
        "a.jpg", "a.txt", "cache/b.jpg", "cache/deep/c.jpg", "src/cache", "src/d.txt", "src/e.jpg",
    ]

    /// `+` stands for an include rule and `-` for an exclude rule.
    @Test(arguments: [
        ([], tree),
        (["-*.txt"], ["a.jpg", "cache/b.jpg", "cache/deep/c.jpg", "src/cache", "src/e.jpg"]),
        (["-cache"], ["a.jpg", "a.txt", "src/d.txt", "src/e.jpg"]),
        (["-cache/"], ["a.jpg", "a.txt", "src/cache", "src/d.txt", "src/e.jpg"]),
        (["-/cache"], ["a.jpg", "a.txt", "src/cache", "src/d.txt", "src/e.jpg"]),
        (["-/a.*"], ["cache/b.jpg", "cache/deep/c.jpg", "src/cache", "src/d.txt", "src/e.jpg"]),
        (["+*.jpg"], ["a.jpg", "cache/b.jpg", "cache/deep/c.jpg", "src/e.jpg"]),
        (["+*.jpg", "-*"], ["a.jpg", "cache/b.jpg", "cache/deep/c.jpg", "src/e.jpg"]),
        (["+*/", "+*.jpg", "-*"], ["a.jpg", "cache/b.jpg", "cache/deep/c.jpg", "src/e.jpg"]),
        (["-cache/", "+*.jpg"], ["a.jpg", "a.txt", "src/cache", "src/d.txt", "src/e.jpg"]),
        (["-cache/", "+*.jpg", "-*"], ["a.jpg", "src/e.jpg"]),
        (["-*", "+*.jpg"], []),
        (["+/src/**", "-*"], ["src/cache", "src/d.txt", "src/e.jpg"]),
        (
            ["+cache/deep/c.jpg", "-cache/"],
            ["a.jpg", "a.txt", "cache/deep/c.jpg", "src/cache", "src/d.txt", "src/e.jpg"]
        ),
        (["-deep/c.jpg"], ["a.jpg", "a.txt", "cache/b.jpg", "src/cache", "src/d.txt", "src/e.jpg"]),
    ])
    func theFirstMatchDecides(_ rules: [String], _ expected: [String]) throws {
        let rules = try PathRules(
            rules.map { (text) throws(PathRule.Fault) in
                try PathRule(text.hasPrefix("+") ? .include : .exclude, String(text.dropFirst()))
            })
        #expect(Self.tree.filter { Self.isSent($0, rules) } == expected)
    }

    /// A folder is not entered if the rules can select nothing in it.
    @Test(arguments: [
        (["-cache"], "cache", false), (["-cache"], "src", true), (["+*.jpg", "-cache"], "cache", true),
        (["+/cache/*.jpg", "-*"], "cache", true), (["+/cache/*.jpg", "-*"], "src", false),
        (["+/cache/*.jpg"], "src", false),
        (["+/a/b/c", "-/a"], "a", true), (["+/a/b", "-/a/"], "a/b", false), (["+/a/**", "-*"], "a/x/y", true),
        (["+*/", "-*"], "a", false), (["-*", "+*.jpg"], "a", false), (["+/a/b.jpg", "-*"], "a", true),
    ])
    func directories(_ rules: [String], _ path: String, _ isEntered: Bool) throws {
        let rules = try PathRules(
            rules.map { (text) throws(PathRule.Fault) in
                try PathRule(text.hasPrefix("+") ? .include : .exclude, String(text.dropFirst()))
            })
        let components = path.split(separator: "/")
        let inherited = components.indices.reduce(Optional(PathRules.Inherited())) { above, index in
            above.flatMap { rules.enter(components[...index].joined(separator: "/"), $0) }
        }
        #expect((inherited != nil) == isEntered)
    }

    @Test func faults() {
        for text in ["", "/", "//"] {
            #expect(throws: PathRule.Fault(message: "The pattern is empty.")) { try PathRule(.exclude, text) }
        }
        #expect(throws: PathRule.Fault.self) { try PathRule(.exclude, String(repeating: "a", count: 5000)) }
    }

    /// Applies the rules from the top folder down, as a walk does.
    private static func isSent(_ path: String, _ rules: PathRules) -> Bool {
        var inherited = PathRules.Inherited()
        let components = path.split(separator: "/")
        for depth in 1..<max(1, components.count) {
            guard let entered = rules.enter(components[..<depth].joined(separator: "/"), inherited) else {
                return false
            }
            inherited = entered
        }
        return rules.send(path, inherited)
    }
}
