import Testing
import TransferCatalog
import TransferModel

@testable import TransferIntake

/// Where something is that had a path before others moved it.
@Suite struct MovedPathsTests {
    private let moved = MovedPaths()

    private func path(_ text: String) throws -> RelativePath { try RelativePath(text) }

    private func move(_ form: IntendedChange.Form, _ path: String, to target: String? = nil) {
        let version = ContentVersion(object: 1, revision: 2, touch: 3, size: 4)
        moved.add(IntendedChange(form, path, to: target, before: version, at: 5))
    }

    @Test func movesAreFollowedOneAfterTheOther() throws {
        move(.folder, "x", to: "y")
        let moment = moved.moment
        move(.folder, "a", to: "b/c")
        move(.move, "b/c/f", to: "g")
        #expect(moved.moment == moment + 2)
        #expect(try moved.place(of: path("a/d/e"), since: moment) == path("b/c/d/e"))
        #expect(try moved.place(of: path("a/f"), since: moment) == path("g"))
        #expect(try moved.place(of: path("ab"), since: moment) == nil)
        #expect(try moved.place(of: path("x/f"), since: moment) == nil)
        #expect(try moved.place(of: path("x/f"), since: 0) == path("y/f"))
    }

    /// What was moved there, or has given way, has to do with it and has no other place.
    @Test func whatTakesThePathIsMet() throws {
        move(.move, "a", to: "b")
        #expect(try moved.place(of: path("b"), since: 0) == path("b"))
        move(.replacement, "f")
        #expect(try moved.place(of: path("f"), since: 1) == path("f"))
        move(.attributes, "s")
        move(.link, "l", to: "m")
        #expect(moved.moment == 2)
        #expect(try moved.place(of: path("s"), since: 0) == nil)
    }

    /// What is forgotten may have had to do with anything.
    @Test func onlyTheLastAreKnown() throws {
        for number in 0..<300 { move(.move, "a\(number)", to: "b\(number)") }
        #expect(try moved.place(of: path("z"), since: 0) == path("z"))
        #expect(try moved.place(of: path("z"), since: 299) == nil)
        #expect(try moved.place(of: path("a299"), since: 0) == path("b299"))
    }
}
