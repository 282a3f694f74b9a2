import CLinux
import Glibc
import Testing
import TransferPorts
import TransferCodec
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// A server that is not root is bound by permissions, and must not lock itself out of the files that it stores.
@Suite struct BoundUserTests {
    private static let kept = ExtraAttributes(extended: [.init(name: Array("user.x".utf8), value: [1, 0, 2])])

    private let temporary: TemporaryDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        BoundUser.own(temporary.path)
    }

    /// Runs `body` on a thread whose user is not root. The store is opened before, because the user of the process does
    /// not change.
    private func withStore<T>(_ body: (StoreFixture) throws -> T) throws -> T {
        let store = try FileStore(
            path: temporary.path("store"), durability: .commit, fileSystem: nil, disk: Disk(isRoot: false))
        let fixture = StoreFixture(temporary: temporary, store: store, name: "store")
        for path in ["", "/.transfer", "/.transfer/incoming"] { BoundUser.own(fixture.root + path) }
        return try BoundUser.run { try body(fixture) }
    }

    private func path(_ text: String) throws -> RelativePath { try RelativePath(text) }

    private func extended(_ path: String) throws -> [ExtraAttributes.Extended]? {
        let file = Descriptor(open(path, O_RDONLY | O_CLOEXEC))
        return try ExtraAttributes(of: file.number, wantsOwner: false).extended
    }

    @Test(arguments: [0, 0o200, 0o044, 0o444, 0o755] as [UInt16], [false, true])
    func whatIsStoredCanBeRead(_ permissions: UInt16, keeps: Bool) throws {
        try withStore { fixture in
            for (name, asPart) in [("a", false), ("b", true)] {
                var publication = try fixture.publication(name, .one, asPart: asPart, permissions: permissions)
                publication.keepsPermissions = keeps
                _ = try fixture.publish([publication])[0].get()
                let mask = keeps ? 0 : fixture.store.umask
                #expect(Files.mode(fixture.path(name)) == mode_t(permissions) & ~mask | 0o400)
                #expect(Files.read(fixture.path(name)) == .one)
                #expect(try fixture.publish(name, .one, permissions: permissions) == .alreadyStored(name))
            }
        }
    }

    @Test(arguments: [0, 0o311, 0o055, 0o555] as [UInt16]) func aFolderStaysOpenToTheServer(_ permissions: UInt16)
        throws
    {
        try withStore { fixture in
            try fixture.publish("d/a", .one)
            let editor = fixture.store.editor()
            _ = try editor.set(try path("d"), permissions: permissions, modified: nil, nil)
            _ = try editor.set(try path("d/a"), permissions: permissions, modified: nil, nil)
            try editor.commit()
            #expect(Files.mode(fixture.path("d")) == mode_t(permissions) | 0o700)
            #expect(Files.mode(fixture.path("d/a")) == mode_t(permissions) | 0o400)
            #expect(try fixture.publish("d/b", .two) == .committed("d/b"))
            #expect(try fixture.store.list(try path("d")).nextWhole(10).count == 2)
        }
    }

    /// An older server or another process has closed the folder: the server opens it like any other.
    @Test func whatIsClosedIsOpened() throws {
        try withStore { fixture in
            try fixture.publish("d/a", .one)
            try Files.check("chmod", chmod(fixture.path("d/a"), 0))
            try Files.check("chmod", chmod(fixture.path("d"), 0o100))
            let editor = fixture.store.editor()
            // A change without permissions leaves them as they are.
            _ = try editor.set(try path("d"), permissions: nil, modified: Timestamp(seconds: 7, nanoseconds: 0), nil)
            #expect(Files.mode(fixture.path("d")) == 0o100 && Files.status(fixture.path("d"))?.st_mtim.tv_sec == 7)
            _ = try editor.set(try path("d"), permissions: 0o700, modified: nil, nil)
            _ = try editor.set(try path("d/a"), permissions: 0o600, modified: nil, Self.kept)
            try editor.commit()
            #expect(Files.mode(fixture.path("d")) == 0o700 && Files.mode(fixture.path("d/a")) == 0o600)
            #expect(try extended(fixture.path("d/a")) == Self.kept.extended)
        }
    }

    /// The kernel requires write permission to set extended attributes.
    @Test(arguments: [false, true]) func whatIsReadOnlyHasExtendedAttributes(asPart: Bool) throws {
        try withStore { fixture in
            var publication = try fixture.publication("d/a", .one, asPart: asPart, permissions: 0o444)
            (publication.keepsPermissions, publication.attributes) = (true, Self.kept)
            _ = try fixture.publish([publication])[0].get()
            #expect(Files.mode(fixture.path("d/a")) == 0o444)
            #expect(try extended(fixture.path("d/a")) == Self.kept.extended)
            let other = ExtraAttributes(extended: [.init(name: Array("user.y".utf8), value: [])])
            let editor = fixture.store.editor()
            _ = try editor.set(try path("d/a"), permissions: nil, modified: nil, other)
            _ = try editor.set(try path("d"), permissions: 0o555, modified: nil, Self.kept)
            try editor.commit()
            #expect(Files.mode(fixture.path("d/a")) == 0o444)
            #expect(try extended(fixture.path("d/a")) == other.extended)
            #expect(try extended(fixture.path("d")) == Self.kept.extended)
        }
    }

    /// A client that fetches files keeps the permissions that it needs to read them again, and no more.
    @Test(arguments: [0, 0o055, 0o444, 0o555] as [UInt16]) func whatIsFetchedCanBeRead(_ permissions: UInt16) throws {
        try BoundUser.run {
            let directory = try PullDirectory(path: temporary.path("in"), disk: Disk(isRoot: false))
            let staged = try directory.stage(size: 3, permissions: permissions)
            try [UInt8].one.withUnsafeBytes { bytes in try staged.write(bytes, at: 0) }
            let digest = [UInt8].one.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }
            var publication = Publication(
                staged: staged, id: .random(), path: try path("d/a"), size: 3, digest: digest,
                permissions: permissions)
            (publication.keepsPermissions, publication.attributes) = (true, Self.kept)
            _ = try #require(directory.publish([publication]).first).get()
            let editor = directory.editor()
            _ = try editor.set(try path("d"), permissions: permissions, modified: nil, Self.kept)
            try editor.commit()
            try directory.setTop(permissions: permissions, modified: nil, nil)
            #expect(Files.mode(temporary.path("in/d/a")) == mode_t(permissions) | 0o400)
            #expect(Files.mode(temporary.path("in/d")) == mode_t(permissions) | 0o500)
            #expect(Files.mode(temporary.path("in")) == mode_t(permissions) | 0o500)
            #expect(try directory.has(try path("d/a"), size: 3, digest: digest))
            #expect(directory.whole(try path("d/a"))?.extra.extended == Self.kept.extended)
        }
    }
}
