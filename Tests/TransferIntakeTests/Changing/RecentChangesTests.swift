import Testing
import TransferCatalog
import TransferModel

@testable import TransferIntake
import TransferPorts

/// Recent changes say where a file has been moved since a given moment.
@Suite struct RecentChangesTests {
    private let recent = RecentChanges()

    private func path(_ text: String) throws -> RelativePath { try RelativePath(text) }

    private func change(
        _ form: IntendedChange.Form, _ path: String, to target: String? = nil, revision: Int64? = nil
    ) {
        let version = ContentVersion(object: 1, revision: 2, touch: 3, size: 4)
        recent.add(IntendedChange(form, path, to: target, before: version, revision: revision, at: 5))
    }

    private func place(of text: String, since moment: Int) throws -> RelativePath? {
        recent.course(of: try path(text), since: moment)?.place
    }

    @Test func movesAreFollowedOneAfterTheOther() throws {
        change(.folder, "x", to: "y")
        let moment = recent.moment
        change(.folder, "a", to: "b/c")
        change(.move, "b/c/f", to: "g")
        #expect(recent.moment == moment + 2)
        #expect(try place(of: "a/d/e", since: moment) == path("b/c/d/e"))
        #expect(try place(of: "a/f", since: moment) == path("g"))
        #expect(try place(of: "ab", since: moment) == nil)
        #expect(try place(of: "x/f", since: moment) == nil)
        #expect(try place(of: "x/f", since: 0) == path("y/f"))
    }

    /// A change to the target of a move, or to a file that was replaced, concerns that path, which itself was not
    /// moved.
    @Test func whatTakesThePathIsMet() throws {
        change(.move, "a", to: "b")
        #expect(try place(of: "b", since: 0) == path("b"))
        change(.replacement, "f")
        #expect(try place(of: "f", since: 1) == path("f"))
        change(.link, "l", to: "m")
        #expect(try place(of: "m", since: 2) == path("m"))
        #expect(recent.moment == 3)
    }

    /// Changes that were forgotten may have concerned any path.
    @Test func onlyTheLastAreKnown() throws {
        for number in 0..<300 { change(.move, "a\(number)", to: "b\(number)") }
        #expect(try place(of: "z", since: 0) == path("z"))
        #expect(try place(of: "z", since: 299) == nil)
        #expect(try place(of: "a299", since: 0) == path("b299"))
    }

    /// Attributes and hard links leave a file at its path. They are remembered for the file when it is moved later.
    @Test func attributesAndNamesGoAlong() throws {
        change(.attributes, "s", revision: 7)
        change(.link, "s", to: "t", revision: 8)
        change(.move, "s", to: "u")
        change(.attributes, "u")
        change(.attributes, "s", revision: 9)
        let course = recent.course(of: try path("s"), since: 0)
        #expect(course == .init(place: try path("u"), revisions: [7, 8], links: [try path("t")]))
        #expect(recent.course(of: try path("s"), since: 3)?.revisions == [9])
        #expect(recent.course(of: try path("v"), since: 0) == nil)
    }
}
