import Testing
import TransferCatalog
import TransferModel

@testable import TransferIntake
import TransferPorts

/// What has become of a file since a moment.
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

    /// What was moved there, or has given way, has to do with it and has no other place.
    @Test func whatTakesThePathIsMet() throws {
        change(.move, "a", to: "b")
        #expect(try place(of: "b", since: 0) == path("b"))
        change(.replacement, "f")
        #expect(try place(of: "f", since: 1) == path("f"))
        change(.link, "l", to: "m")
        #expect(try place(of: "m", since: 2) == path("m"))
        #expect(recent.moment == 3)
    }

    /// What is forgotten may have had to do with anything.
    @Test func onlyTheLastAreKnown() throws {
        for number in 0..<300 { change(.move, "a\(number)", to: "b\(number)") }
        #expect(try place(of: "z", since: 0) == path("z"))
        #expect(try place(of: "z", since: 299) == nil)
        #expect(try place(of: "a299", since: 0) == path("b299"))
    }

    /// Attributes and second names leave a file where it is, and are known of it, also when it is moved later.
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
