import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

@Suite struct PublisherTests {
    @Test(arguments: [false, true]) func directoriesAreMade(usesOpenat2: Bool) throws {
        let fixture = try StoreFixture(usesOpenat2: usesOpenat2)
        #expect(try fixture.publish("a/b/c/d.txt", .one) == .committed("a/b/c/d.txt"))
        #expect(try fixture.publish("a/b/e.txt", .two, asPart: true) == .committed("a/b/e.txt"))
        #expect(fixture.visible == ["a/", "a/b/", "a/b/c/", "a/b/c/d.txt", "a/b/e.txt"])
        #expect(Files.mode(fixture.path("a/b")) == 0o777 & ~fixture.store.umask)
        #expect(Files.read(fixture.path("a/b/c/d.txt")) == .one)
    }

    @Test(arguments: [false, true]) func theDeepestPath(usesOpenat2: Bool) throws {
        let fixture = try StoreFixture(usesOpenat2: usesOpenat2)
        let path = [String](repeating: "d", count: Limits.pathDepth).joined(separator: "/")
        #expect(try fixture.publish(path, .one) == .committed(path))
        #expect(Files.read(fixture.path(path)) == .one)
    }

    @Test(arguments: [
        "notes", ".bashrc", "a.tar.gz", "夏の写真.jpg", "😀.png", "line\nbreak", "back\\slash", " ", "-rf", "a\u{301}",
        "dir/\u{301}b", String(repeating: "n", count: 255),
    ]) func names(name: String) throws {
        let fixture = try StoreFixture()
        let numbered = try RelativePath(name).numbered(1)
        #expect(try fixture.publish(name, .one) == .committed(name))
        #expect(try fixture.publish(name, .two) == .committed(numbered))
        #expect(try fixture.publish(name, .two) == .alreadyStored(numbered))
        #expect(try fixture.publish(name, .one) == .alreadyStored(name))
        #expect(Files.read(fixture.path(name)) == .one)
        #expect(Files.read(fixture.path(numbered.string)) == .two)
    }

    /// The names have equal characters but different bytes, so there are two files.
    @Test func namesAreNotNormalised() throws {
        let fixture = try StoreFixture()
        for (name, content) in [("\u{E9}", [UInt8].one), ("e\u{301}", .two)] {
            guard case .committed(let path, _) = try fixture.publish(name, content) else {
                Issue.record("not committed")
                return
            }
            #expect(Array(path.string.utf8) == Array(name.utf8))
            #expect(Files.read(fixture.path(name)) == content)
        }
    }

    /// No number fits into the name, so the upload fails and changes nothing.
    @Test func noRoomForANumber() throws {
        let fixture = try StoreFixture()
        let name = "a." + String(repeating: "n", count: 253)
        try fixture.publish(name, .one)
        #expect(try fixture.failure(name, .two) == .pathConflict)
        #expect(try fixture.failure(name, .two, asPart: true) == .pathConflict)
        #expect(fixture.visible == [name])
        #expect(fixture.parts.isEmpty)
    }

    @Test func sameNameManyTimesInABatch() throws {
        let fixture = try StoreFixture()
        let outcomes = fixture.publish([
            try fixture.publication("a.b", .one), try fixture.publication("a.b", .two, asPart: true),
            try fixture.publication("a.b", .one), try fixture.publication("a.b", .two),
            try fixture.publication("a.b", .six, .fail), try fixture.publication("a.b", .six, .skip),
            try fixture.publication("a.b", .six, .overwrite), try fixture.publication("a.b", .one),
        ])
        #expect(try outcomes[0].get() == .committed("a.b"))
        #expect(try outcomes[1].get() == .committed("a-1.b"))
        #expect(try outcomes[2].get() == .alreadyStored("a.b"))
        #expect(try outcomes[3].get() == .alreadyStored("a-1.b"))
        #expect(throws: Failure.self) { try outcomes[4].get() }
        #expect(try outcomes[5].get() == .skipped)
        #expect(try outcomes[6].get() == .committed("a.b"))
        #expect(try outcomes[7].get() == .committed("a-2.b"))
        #expect(fixture.visible == ["a.b", "a-1.b", "a-2.b"])
        #expect(fixture.parts.isEmpty)
    }

    @Test(arguments: [false, true]) func aFailingOneAmongGoodOnes(usesOpenat2: Bool) throws {
        let fixture = try StoreFixture(usesOpenat2: usesOpenat2)
        try fixture.publish("file", .one)
        let outcomes = fixture.publish([
            try fixture.publication("x/a", .one), try fixture.publication("file/b", .two),
            try fixture.publication("file/b/c", .two, asPart: true), try fixture.publication("x/c", .two),
        ])
        #expect(try outcomes[0].get() == .committed("x/a"))
        for outcome in outcomes[1...2] {
            let error = #expect(throws: Failure.self) { try outcome.get() }
            #expect(error?.code == .pathConflict)
        }
        #expect(try outcomes[3].get() == .committed("x/c"))
        #expect(fixture.visible == ["file", "x/", "x/a", "x/c"])
        #expect(fixture.parts.isEmpty)
    }

    @Test func nothingToPublish() throws {
        #expect(try StoreFixture().publish([]).isEmpty)
    }

    /// A batch may name thousands of directories, but descriptors are limited.
    @Test func aBatchOfManyDirectoriesHoldsFew() throws {
        let fixture = try StoreFixture()
        let names = (0..<120).map { "d\($0 % 60)/e\($0)/f" }
        let publisher = Publisher(tree: fixture.store.tree, umask: 0, incoming: fixture.store.incoming)
        let outcomes = publisher.publish(try names.map { try fixture.publication($0, .one) }).outcomes
        let held = Files.descriptors(below: fixture.root).count { Files.type($0) == S_IFDIR }
        withExtendedLifetime(publisher) { #expect(held < 80) }
        #expect(try outcomes.map { try $0.get().withoutIdentity } == names.map { .committed(try RelativePath($0)) })
        #expect(fixture.visible.filter { $0.hasSuffix("f") } == Set(names))
    }

    /// Uploads of several connections to one path at once.
    @Test func severalThreads() async throws {
        let fixture = try StoreFixture()
        let contents = (0..<24).map { [UInt8](text: "content \($0 / 2 + 10)") }
        let stored = try await withThrowingTaskGroup(of: PublicationOutcome.self) { group in
            for (index, content) in contents.enumerated() {
                group.addTask { try fixture.publish("new/dir/a.txt", content, asPart: index % 3 == 0) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(stored.count { if case .committed = $0 { true } else { false } } == 12)
        let files = fixture.visible.filter { $0.hasSuffix(".txt") }
        #expect(Set(files.compactMap { Files.read(fixture.path($0)) }) == Set(contents))
        #expect(files == Set(["new/dir/a.txt"] + (1..<12).map { "new/dir/a-\($0).txt" }))
    }
}
