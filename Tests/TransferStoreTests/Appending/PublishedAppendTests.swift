import Glibc
import Synchronization
import Testing
import TransferPorts
import TransferCodec
import TransferModel
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// A server dies after it has named the files of growing uploads and before the catalog has recorded that: the next
/// server still finds all their bytes.
@Suite struct PublishedAppendTests {
    private static let id = UploadID(high: 7, low: 9)
    private static let fileSystem = FileSystem(isMemory: false, syncsAsAWhole: false)
    private static let sizes = [0, 1, Limits.blockSize, Limits.blockSize + 5, 2 * Limits.blockSize]

    private static func content(_ size: Int = Limits.blockSize + 5) -> [UInt8] { SplitMix64.bytes(seed: 3, size) }

    private static func fixture(_ script: ScriptedDisk = ScriptedDisk()) throws -> StoreFixture {
        script.start()
        return try StoreFixture(fileSystem: fileSystem, script: script)
    }

    private static func restarted(
        _ fixture: StoreFixture, on script: ScriptedDisk = ScriptedDisk()
    ) throws -> StoreFixture {
        script.start()
        return try fixture.restarted(on: script.disk)
    }

    private static func mark(_ content: [UInt8], _ function: DigestFunction = .xxh128) -> AppendMark {
        let digester = ContentDigester(function)
        var mark = AppendMark(function, offset: UInt64(content.count), total: UInt64(content.count))
        content.withUnsafeBytes { digester.update($0) { _, digest in mark.blocks += digest } }
        mark.tail = digester.tail
        return mark
    }

    /// - Parameter isTold: whether all of the content was acknowledged before.
    private static func publish(
        _ content: [UInt8], in fixture: StoreFixture, _ conflict: ConflictPolicy = .keepBoth, isTold: Bool = true,
        _ function: DigestFunction = .xxh128
    ) throws {
        let file = try fixture.store.makeAppendable(id: id, size: nil, function: function, declaration: [1])
        if !isTold { try file.keep(AppendMark(function)) }
        try content.withUnsafeBytes { try file.content.write($0, at: 0) }
        let mark = mark(content, function)
        if isTold { try file.keep(mark) } else { file.note(mark) }
        _ = try fixture.publish([publication(file, content, conflict)])[0].get()
    }

    /// A published upload in the store of the next server, one of whose syncs fails.
    ///
    /// - Parameter sync: number of the failing sync, from 0.
    private static func published(_ content: [UInt8], failing sync: Int) throws -> StoreFixture {
        let first = try fixture()
        try publish(content, in: first)
        let script = ScriptedDisk()
        let next = try restarted(first, on: script)
        script.fail(sync: sync, with: EIO)
        return next
    }

    private static func publication(
        _ file: AppendableFile, _ content: [UInt8], _ conflict: ConflictPolicy
    ) throws -> Publication {
        let digest = content.withUnsafeBytes { ContentDigester.digest(file.kept.function, $0) }
        return Publication(
            staged: file.content, id: id, path: try RelativePath("a"), size: UInt64(content.count), digest: digest,
            conflict: conflict)
    }

    private static func find(in fixture: StoreFixture, _ conflict: ConflictPolicy = .keepBoth) throws -> AppendableFile?
    {
        try fixture.store.appendable(id: id) { declaration, _ in
            declaration == [1] ? (try? RelativePath("a")).map { ($0, conflict) } : nil
        }
    }

    @Test(arguments: sizes, [(true, DigestFunction.xxh128), (false, .xxh128), (true, .sha256), (false, .sha256)])
    func itIsAllThere(_ size: Int, _ form: (isTold: Bool, function: DigestFunction)) throws {
        let content = Self.content(size)
        let first = try Self.fixture()
        try Self.publish(content, in: first, isTold: form.isTold, form.function)
        let next = try Self.restarted(first)
        let found = try #require(try Self.find(in: next))
        let isSame = found.kept == Self.mark(content, form.function) && Files.read(next.path("a")) == content
        #expect(isSame)
        // The part is a copy of the published file, and the two count as one upload.
        #expect(next.parts.contains("\(Self.id).part"))
        #expect(try next.store.unfinished().count == 1)
        let outcome = try next.publish([Self.publication(found, content, .keepBoth)])[0].get()
        #expect(outcome == .alreadyStored(try RelativePath("a"), nil))
        found.forgetIfGone()
        #expect(next.visible == ["a"] && next.parts.isEmpty)
        #expect(try Self.find(in: next) == nil)
    }

    /// A file system that cannot rename without replacing links the new name first, so a crash may leave both names.
    @Test func theNameBeforeMayBeThereStill() throws {
        let content = Self.content(1)
        let first = try Self.fixture()
        try Self.publish(content, in: first)
        let part = first.path(".transfer/incoming/\(Self.id).part")
        try Files.check("link", link(first.path("a"), part))
        let next = try Self.restarted(first)
        _ = try next.store.removeLeftovers()
        #expect(next.parts == ["\(Self.id).sheet"])
        #expect(try #require(try Self.find(in: next)).kept == Self.mark(content))
    }

    /// The next server looks for the file under the names that the conflict policy allows, and under no others.
    @Test func itIsFoundUnderANumber() throws {
        let content = Self.content(1)
        for (conflict, isFound) in [
            (ConflictPolicy.keepBoth, true), (.fail, false), (.skip, false), (.overwrite, false),
        ] {
            let first = try Self.fixture()
            try Files.write([9, 9], to: first.path("a"))
            try Files.write([9, 9, 9], to: first.path("a-1"))
            try Self.publish(content, in: first)
            #expect(first.visible == ["a", "a-1", "a-2"])
            let next = try Self.restarted(first)
            #expect((try Self.find(in: next, conflict) != nil) == isFound)
        }
    }

    /// A file that others have changed since belongs to them, and does not count as the upload.
    @Test(arguments: 0..<4) func whatIsGoneIsGone(_ change: Int) throws {
        let content = Self.content()
        let first = try Self.fixture()
        try Self.publish(content, in: first)
        switch change {
        case 0: unlink(first.path("a"))
        case 1: try Files.write(Array(content.dropLast()) + [content[0] ^ content[1] ^ 1], to: first.path("a"))
        case 2:
            unlink(first.path("a"))
            try Files.makeDirectory(first.path("a"))
        default:
            unlink(first.path("a"))
            try Files.check("symlink", symlink("/etc/passwd", first.path("a")))
        }
        let next = try Self.restarted(first)
        #expect(try Self.find(in: next) == nil && next.parts.isEmpty)
    }

    /// After a failed sync the published file is not trusted: a new copy replaces it.
    @Test func inDoubtItIsWrittenAnew() throws {
        let content = Self.content()
        // The sync of another upload fails on the server that dies.
        let failing = try Self.published(content, failing: 0)
        #expect(try failing.failure("b", [1]) == .storageFailed)
        let next = try Self.restarted(failing)
        #expect(next.store.isInDoubt)
        let before = try #require(next.store.version(at: try RelativePath("a")))
        let found = try #require(try Self.find(in: next))
        let outcome = try next.publish([Self.publication(found, content, .keepBoth)])[0].get()
        let isSame = Files.read(next.path("a")) == content
        #expect(try outcome == .committed(RelativePath("a")) && isSame)
        #expect(next.store.version(at: try RelativePath("a"))?.object != before.object)
    }

    /// If the sync of the copy or the sync of the copy's name fails, the upload is as it was before, and the copy can
    /// be made again.
    @Test(arguments: 0..<2) func aCopyThatFailsCanBeMadeAgain(_ sync: Int) throws {
        let content = Self.content()
        let failing = try Self.published(content, failing: sync)
        #expect(throws: Failure.self) { try Self.find(in: failing) }
        #expect(failing.parts == ["\(Self.id).sheet"])
        #expect(failing.store.incoming.parts.load(ordering: .relaxed) == 0)
        let next = try Self.restarted(failing)
        let isSame = try #require(try Self.find(in: next)).kept == Self.mark(content)
        #expect(isSame)
    }

    /// The sheet stays as long as other unfinished uploads do, and no other upload can use its ID.
    @Test func nobodyAsksForIt() throws {
        let first = try Self.fixture()
        try Self.publish(Self.content(1), in: first)
        let next = try Self.restarted(first)
        #expect(next.store.hasPart(Self.id))
        #expect(throws: Failure.self) { try next.store.resume(id: Self.id, size: nil) }
        #expect(try next.store.appendable(id: UploadID(high: 1, low: 1)) == nil)
        _ = try next.store.removeUnfinished(where: { _ in true }, unless: { $0 == Self.id })
        #expect(next.parts == ["\(Self.id).sheet"])
        _ = try next.store.removeUnfinished(where: { _ in true }, unless: { _ in false })
        #expect(next.parts.isEmpty && !next.store.hasPart(Self.id))
    }
}
