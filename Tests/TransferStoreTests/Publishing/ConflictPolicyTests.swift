import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// What happens to an upload whose path is taken.
@Suite struct ConflictPolicyTests {
    private func overwrite(
        _ fixture: StoreFixture, _ content: [UInt8], connection: Int, isGone: Bool, hasCondition: Bool = false
    ) throws -> Result<PublicationOutcome, Failure> {
        var publication = try fixture.publication("d/x", content, .overwrite)
        publication.sender = Sender(connection: connection) { isGone }
        if hasCondition { publication.condition = PublicationCondition { _ in true } }
        return fixture.publish([publication])[0]
    }

    /// A client was killed and started again: the store receives content that the client sent before its death after
    /// content that was acknowledged later.
    @Test(arguments: [true, false]) func whoIsGoneReplacesNothingThatIsNewer(_ wasThere: Bool) throws {
        let fixture = try StoreFixture()
        if wasThere { try fixture.publish("d/x", .six) }
        let committed = try PublicationOutcome.committed("d/x")
        #expect(try overwrite(fixture, .one, connection: 7, isGone: true).get() == committed)
        #expect(try overwrite(fixture, .two, connection: 9, isGone: false).get() == committed)
        #expect(throws: Failure.self) { try overwrite(fixture, .one, connection: 7, isGone: true).get() }
        #expect(throws: Failure.self) { try overwrite(fixture, .six, connection: 8, isGone: true).get() }
        #expect(Files.read(fixture.path("d/x")) == .two)
        #expect(fixture.parts.isEmpty)
        // The existing file has the same content, whichever connection sent it.
        #expect(try overwrite(fixture, .two, connection: 7, isGone: true).get() == .alreadyStored("d/x"))
        // A closed connection may replace its own files and older ones; an open connection may replace every file.
        #expect(try overwrite(fixture, .one, connection: 9, isGone: true).get() == committed)
        #expect(try overwrite(fixture, .two, connection: 10, isGone: true).get() == committed)
        #expect(try overwrite(fixture, .six, connection: 7, isGone: false).get() == committed)
        #expect(Files.read(fixture.path("d/x")) == .six)
    }

    /// The rule also holds for uploads with a condition, which newer content may meet.
    @Test func whoIsGoneReplacesNothingThatIsNewerByACondition() throws {
        let fixture = try StoreFixture()
        #expect(try overwrite(fixture, .two, connection: 9, isGone: false).get() == .committed("d/x"))
        for isGone in [true, false] {
            let outcome = try overwrite(fixture, .one, connection: 7, isGone: isGone, hasCondition: true)
            #expect((try? outcome.get()) == (isGone ? nil : try .committed("d/x")))
            #expect(Files.read(fixture.path("d/x")) == (isGone ? .two : .one))
        }
        #expect(fixture.parts.isEmpty)
    }

    @Test func whatWasReplacedLongAgoIsForgotten() throws {
        var overwrites = Overwrites()
        let path = try RelativePath("x")
        overwrites.announce(path, 5)
        overwrites.announce(path, 3)
        #expect(overwrites.newest(path) == 5)
        for number in 0..<32_767 { overwrites.announce(try RelativePath("d/\(number)"), 1) }
        #expect(overwrites.newest(path) == 5)
        for number in 0..<32_768 { overwrites.announce(try RelativePath("e/\(number)"), 1) }
        #expect(overwrites.newest(path) == nil)
    }

    @Test(arguments: [false, true]) func keepBoth(asPart: Bool) throws {
        let fixture = try StoreFixture()
        #expect(try fixture.publish("photo.png", .one, asPart: asPart) == .committed("photo.png"))
        #expect(try fixture.publish("photo.png", .one, asPart: asPart) == .alreadyStored("photo.png"))
        #expect(try fixture.publish("photo.png", .two, asPart: asPart) == .committed("photo-1.png"))
        #expect(try fixture.publish("photo.png", .six, asPart: asPart) == .committed("photo-2.png"))
        #expect(try fixture.publish("photo.png", .two, asPart: asPart) == .alreadyStored("photo-1.png"))
        #expect(try fixture.publish("photo.png", .six, asPart: asPart) == .alreadyStored("photo-2.png"))
        #expect(Files.read(fixture.path("photo.png")) == .one)
        #expect(Files.read(fixture.path("photo-1.png")) == .two)
        #expect(Files.read(fixture.path("photo-2.png")) == .six)
        #expect(fixture.visible.count == 3)
        #expect(fixture.parts.isEmpty)
    }

    /// The first free number is used, even if a later one is taken.
    @Test func aGapIsFilled() throws {
        let fixture = try StoreFixture()
        try Files.write(.one, to: fixture.path("a"))
        try Files.write(.one, to: fixture.path("a-2"))
        #expect(try fixture.publish("a", .two) == .committed("a-1"))
        #expect(try fixture.publish("a", .six) == .committed("a-3"))
    }

    @Test func contentIsComparedByEveryDigest() throws {
        let fixture = try StoreFixture()
        var long = [UInt8](repeating: 1, count: Limits.blockSize + 1)
        for content in [[], .one, long] {
            try fixture.publish("a\(content.count)", content)
            for digest in DigestFunction.allCases {
                let publication = try fixture.publication("a\(content.count)", content, digest: digest)
                #expect(try fixture.publish([publication])[0].get() == .alreadyStored("a\(content.count)"))
            }
        }
        long[Limits.blockSize] = 2
        #expect(try fixture.publish("a\(long.count)", long) == .committed("a\(long.count)-1"))
    }

    @Test(arguments: [false, true]) func overwrite(asPart: Bool) throws {
        let fixture = try StoreFixture()
        #expect(try fixture.publish("a", .one, .overwrite, asPart: asPart) == .committed("a"))
        #expect(try fixture.publish("a", .two, .overwrite, asPart: asPart) == .committed("a"))
        #expect(Files.read(fixture.path("a")) == .two)
        #expect(try fixture.publish("a", .two, .overwrite, asPart: asPart) == .alreadyStored("a"))
        #expect(fixture.visible == ["a"])
        #expect(fixture.parts.isEmpty)
    }

    /// A reader that has the old file open continues to read the old content.
    @Test func overwritingIsOneStep() throws {
        let fixture = try StoreFixture()
        try fixture.publish("a", .one)
        let old = Files.status(fixture.path("a"))?.st_ino
        try Files.check("link", link(fixture.path("a"), fixture.temporary.path("old")))
        try fixture.publish("a", .two, .overwrite)
        #expect(Files.read(fixture.temporary.path("old")) == .one)
        #expect(Files.status(fixture.path("a"))?.st_ino != old)
    }

    @Test(arguments: [false, true]) func skip(asPart: Bool) throws {
        let fixture = try StoreFixture()
        #expect(try fixture.publish("a", .one, .skip, asPart: asPart) == .committed("a"))
        #expect(try fixture.publish("a", .two, .skip, asPart: asPart) == .skipped)
        #expect(Files.read(fixture.path("a")) == .one)
        #expect(fixture.visible == ["a"])
        #expect(fixture.parts.isEmpty)
    }

    @Test(arguments: [false, true]) func fail(asPart: Bool) throws {
        let fixture = try StoreFixture()
        #expect(try fixture.publish("a", .one, .fail, asPart: asPart) == .committed("a"))
        #expect(try fixture.publish("a", .one, .fail, asPart: asPart) == .alreadyStored("a"))
        #expect(try fixture.failure("a", .two, .fail, asPart: asPart) == .pathConflict)
        #expect(Files.read(fixture.path("a")) == .one)
        #expect(fixture.visible == ["a"])
        #expect(fixture.parts.isEmpty)
    }

    /// Objects at the path that are not regular files.
    enum Obstacle: CaseIterable {
        case directory, symlink, danglingSymlink, fifo, socket

        /// - Parameter target: path of a file with the same content as the upload.
        func make(_ path: String, target: String) throws {
            switch self {
            case .directory: try Files.makeDirectory(path)
            case .symlink: try Files.makeSymlink(path, to: target)
            case .danglingSymlink: try Files.makeSymlink(path, to: target + "-missing")
            case .fifo: try Files.makeFIFO(path)
            case .socket: try Files.check("mknod", mknod(path, S_IFSOCK | 0o600, 0))
            }
        }
    }

    /// Empty content has the size of a FIFO, and the comparison must not wait for a writer.
    @Test(arguments: Obstacle.allCases, [ConflictPolicy.keepBoth, .overwrite, .skip, .fail])
    func notAFile(obstacle: Obstacle, policy: ConflictPolicy) throws {
        for content in [[UInt8](), .one] {
            let fixture = try StoreFixture()
            let target = fixture.temporary.path("target")
            try Files.write(content, to: target)
            try obstacle.make(fixture.path("a"), target: target)
            let type = Files.type(fixture.path("a"))
            switch policy {
            case .keepBoth: #expect(try fixture.publish("a", content, policy) == .committed("a-1"))
            case .skip: #expect(try fixture.publish("a", content, policy) == .skipped)
            case .fail: #expect(try fixture.failure("a", content, policy) == .pathConflict)
            case .overwrite where obstacle == .directory:
                #expect(try fixture.failure("a", content, policy) == .pathConflict)
                #expect(try fixture.failure("a", content, policy, asPart: true) == .pathConflict)
            case .overwrite: #expect(try fixture.publish("a", content, policy) == .committed("a"))
            }
            let isReplaced = policy == .overwrite && obstacle != .directory
            #expect(Files.type(fixture.path("a")) == (isReplaced ? S_IFREG : type))
            #expect(Files.names(fixture.temporary.path) == ["store", "target"])
            #expect(Files.read(target) == content)
            #expect(fixture.parts.isEmpty)
        }
    }
}
