import Testing
import TransferHTTP

/// RFC 9110, sections 8.8.3, 13.1 and 13.2.2.
@Suite struct PreconditionsTests {
    private static let now = HTTPDate(clamping: 1_795_000_000)
    private static let modified = HTTPDate(clamping: 784_111_777)
    private static let (before, same, after) = (
        "Sun, 06 Nov 1994 08:49:36 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT"
    )

    private static func current(_ tag: String? = "\"xyzzy\"") -> Preconditions.Current {
        Preconditions.Current(tag: tag.flatMap { EntityTag(field: $0.utf8) }, modified: modified)
    }

    private static func fields(_ fields: [(String, String)]) -> HTTPFields {
        HTTPFields(fields.map { HTTPField(name: $0.0, value: Array($0.1.utf8)) })
    }

    private static func outcome(
        _ fields: [(String, String)], of current: Preconditions.Current? = current(), isRead: Bool = true
    ) throws -> Preconditions.Outcome {
        try Preconditions(Self.fields(fields), now: now).outcome(of: current, isRead: isRead)
    }

    /// The table of RFC 9110, section 8.8.3.2.
    @Test(arguments: [
        ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false), ("W/\"1\"", "\"1\"", false, true),
        ("\"1\"", "\"1\"", true, true),
    ]) func comparing(_ a: String, _ b: String, _ strong: Bool, _ weak: Bool) throws {
        let (a, b) = (try #require(EntityTag(field: a.utf8)), try #require(EntityTag(field: b.utf8)))
        #expect(a.isStrongly(b) == strong && b.isStrongly(a) == strong)
        #expect(a.isWeakly(b) == weak && b.isWeakly(a) == weak)
    }

    @Test(arguments: ["\"\"", "\"xyzzy\"", "W/\"xyzzy\"", "\"a,b\"", "\"é\\\""]) func tags(_ text: String) {
        #expect(EntityTag(field: text.utf8)?.bytes == Array(text.utf8))
    }

    @Test(arguments: [
        "", "a", "\"", "\"a", "a\"", "w/\"a\"", "W/a", "W /\"a\"", "\"a b\"", "\"a\"b", "\"a\" ", "'a'", "\"\u{7F}\"",
        "*",
    ])
    func notTags(_ text: String) {
        #expect(EntityTag(field: text.utf8) == nil)
    }

    static let matches: [(String, Bool)] = [
        ("\"xyzzy\"", true), ("\"a\", \"xyzzy\"", true), ("\"a\",,\t\"xyzzy\" ,", true), ("*", true),
        ("W/\"xyzzy\"", false),
        ("\"a\"", false),
    ]

    @Test(arguments: matches) func match(_ value: String, _ isThere: Bool) throws {
        for isRead in [true, false] {
            #expect(try Self.outcome([("if-match", value)], isRead: isRead) == (isThere ? .proceed : .failed))
            #expect(try Self.outcome([("if-match", value)], of: nil, isRead: isRead) == .failed, "there is nothing")
        }
    }

    @Test func noTag() throws {
        #expect(try Self.outcome([("if-match", "\"a\"")], of: Self.current(nil)) == .failed)
        #expect(try Self.outcome([("if-match", "*")], of: Self.current(nil)) == .proceed)
        #expect(try Self.outcome([("if-none-match", "\"a\"")], of: Self.current(nil)) == .proceed)
        #expect(try Self.outcome([("if-none-match", "*")], of: Self.current(nil)) == .notModified)
        #expect(
            try Self.outcome([("if-match", "W/\"a\"")], of: Self.current("W/\"a\"")) == .failed, "weak is not enough")
    }

    @Test(arguments: ["\"xyzzy\"", "W/\"xyzzy\"", "\"a\", \"xyzzy\"", "*"]) func noneMatch(_ value: String) throws {
        #expect(try Self.outcome([("if-none-match", value)]) == .notModified)
        #expect(try Self.outcome([("if-none-match", value)], isRead: false) == .failed)
        #expect(try Self.outcome([("if-none-match", value)], of: nil) == .proceed)
        #expect(try Self.outcome([("if-none-match", value)], of: nil, isRead: false) == .proceed)
        #expect(try Self.outcome([("if-none-match", "\"b\"")]) == .proceed)
    }

    @Test func severalLines() throws {
        #expect(try Self.outcome([("if-none-match", "\"a\""), ("if-none-match", "\"xyzzy\"")]) == .notModified)
        #expect(try Self.outcome([("if-match", "\"a\""), ("if-match", "\"xyzzy\"")]) == .proceed)
    }

    @Test(arguments: [
        "", ",", "xyzzy", "\"a\" \"b\"", "\"a\"; \"b\"", "*, \"a\"", "\"a\", *", "\"a", "**", "\"a,\"xyzzy",
    ])
    func refusedLists(_ value: String) {
        for name in ["if-match", "if-none-match"] {
            let fault = #expect(throws: HTTPFault.self) { try Self.outcome([(name, value)]) }
            #expect(fault?.status == 400)
            #expect(throws: HTTPFault.self) { try Self.outcome([(name, "*"), (name, value)]) }
        }
    }

    @Test(arguments: [(255, true), (256, true), (257, false)]) func mostTags(_ count: Int, _ fits: Bool) {
        let value = Array(repeating: "\"a\"", count: count).joined(separator: ",")
        #expect((try? Self.outcome([("if-match", value)])) == (fits ? .failed : nil))
    }

    @Test func dates() throws {
        let (unmodified, since) = ("if-unmodified-since", "if-modified-since")
        #expect(try Self.outcome([(unmodified, Self.before)]) == .failed)
        #expect(try Self.outcome([(unmodified, Self.same)]) == .proceed)
        #expect(try Self.outcome([(unmodified, Self.after)], isRead: false) == .proceed)
        #expect(try Self.outcome([(since, Self.before)]) == .proceed)
        #expect(try Self.outcome([(since, Self.same)]) == .notModified)
        #expect(try Self.outcome([(since, Self.after)]) == .notModified)
        #expect(try Self.outcome([(since, Self.after)], isRead: false) == .proceed, "only for GET and HEAD")
    }

    /// Sections 13.1.3 and 13.1.4 require that these dates are ignored.
    @Test func datesThatAreIgnored() throws {
        for name in ["if-unmodified-since", "if-modified-since"] {
            let date = name == "if-unmodified-since" ? Self.before : Self.after
            #expect(try Self.outcome([(name, date)], of: nil) == .proceed, "there is nothing")
            let undated = Preconditions.Current(tag: nil, modified: nil)
            #expect(try Self.outcome([(name, date)], of: undated) == .proceed, "there is no date")
            #expect(try Self.outcome([(name, "yesterday")]) == .proceed, "no date")
            #expect(try Self.outcome([(name, date), (name, date)]) == .proceed, "two dates")
            #expect(try Self.outcome([(name, "\(date), \(date)")]) == .proceed, "a list of dates")
        }
    }

    @Test func order() throws {
        let passes = ("if-match", "\"xyzzy\"")
        #expect(try Self.outcome([passes, ("if-unmodified-since", Self.before)]) == .proceed, "step 2 is skipped")
        #expect(
            try Self.outcome([passes, ("if-none-match", "\"xyzzy\"")]) == .notModified, "step 3 comes behind step 1")
        #expect(
            try Self.outcome([("if-match", "\"a\""), ("if-none-match", "\"xyzzy\"")]) == .failed, "step 1 is first")
        let differs = ("if-none-match", "\"a\"")
        #expect(try Self.outcome([differs, ("if-modified-since", Self.after)]) == .proceed, "step 4 is skipped")
        #expect(
            try Self.outcome([("if-unmodified-since", Self.before), ("if-none-match", "*")]) == .failed, "2 before 3")
    }

    @Test func none() throws {
        #expect(try Preconditions(HTTPFields(), now: Self.now).isEmpty)
        #expect(try !Preconditions(Self.fields([("if-match", "*")]), now: Self.now).isEmpty)
        #expect(try Self.outcome([]) == .proceed)
        #expect(try Self.outcome([], of: nil, isRead: false) == .proceed)
    }

    // MARK: If-Range

    private static func fits(_ value: String..., of current: Preconditions.Current = current(), now: HTTPDate = now)
        -> Bool?
    {
        IfRange(fields(value.map { ("if-range", $0) }), now: now)?.fits(current, now: now)
    }

    @Test func ranges() {
        #expect(Self.fits() == nil)
        #expect(Self.fits("\"xyzzy\"") == true)
        #expect(Self.fits("\"a\"") == false)
        #expect(Self.fits("W/\"xyzzy\"") == false)
        #expect(Self.fits("W/\"xyzzy\"", of: Self.current("W/\"xyzzy\"")) == false)
        #expect(Self.fits("\"xyzzy\"", of: Self.current(nil)) == false)
        #expect(Self.fits(Self.same) == true)
        #expect(Self.fits(Self.before) == false)
        #expect(Self.fits(Self.after) == false, "it has to be the same, not later")
        #expect(Self.fits(Self.same, now: Self.modified) == false, "the second is not over")
        #expect(Self.fits(Self.same, now: HTTPDate(clamping: Self.modified.seconds + 1)) == true)
        for value in ["", "*", "\"xyzzy\", \"a\"", "xyzzy", "yesterday"] { #expect(Self.fits(value) == false) }
        #expect(Self.fits("\"xyzzy\"", "\"xyzzy\"") == false, "two")
    }
}
