import CLinux
import Glibc
import Synchronization
import Testing
import TransferAccess
import TransferCatalog
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// Acknowledgements after a directory is copied, restored or moved.
@Suite struct AdoptionTests {
    /// Directories and servers with a clock that the test advances and a disk whose reads fail on request.
    private final class Ground: Sendable {
        let fails = Atomic(false)
        let time = Atomic(Int64(1))
        let unreadable = Locked([String]())

        /// Starts a server that has checked whether its directory is a copy.
        func server(in directory: TemporaryDirectory) throws -> IntakeFixture {
            let disk = Disk(interception: { [self] call, body in
                if fails.load(ordering: .relaxed), case .read = call { return -5 }
                return body()
            })
            let clock = IntakeClock(
                monotonic: { [self] in time.load(ordering: .relaxed) },
                utc: { [self] in time.wrappingAdd(1, ordering: .relaxed).newValue })
            let fixture = try IntakeFixture(
                in: directory, disk: disk, clock: clock,
                mark: DirectoryMark(in: directory.path, catalog: directory.path("catalog"))
            ) { [self] event in
                if case .notAdopted(let path, _) = event { unreadable.withLock { $0.append(path.string) } }
            }
            fixture.intake.adoption.begin()
            fixture.intake.known.load()
            return fixture
        }

        /// Copies the directory of a stopped server with a program that keeps times.
        func copy(_ directory: TemporaryDirectory) throws -> TemporaryDirectory {
            let copy = try TemporaryDirectory(prefersMemory: true)
            let child = try Child(["/bin/cp", "-a", directory.path + "/.", copy.path], ChildLaunch())
            #expect(try child.wait() == .exited(0))
            return copy
        }

        func wait(seconds: Int64) { time.wrappingAdd(seconds * 1_000_000_000, ordering: .relaxed) }
    }

    private static let modified = Timestamp(seconds: 1_000_000, nanoseconds: 7)

    private let ground = Ground()
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory(prefersMemory: true)
    }

    private var guest: AccessOptions {
        var options = AccessOptions()
        (options.rights, options.quota) = (.noRemove, 14_000)
        return options
    }

    private func path(_ text: String) throws -> RelativePath { try RelativePath(text) }

    private func intent(_ path: String, _ id: UploadID = .random(), size: UInt64? = nil) -> UploadIntent {
        UploadIntent(id: id, path: path, size: size, conflict: .overwrite, modified: Self.modified)
    }

    /// - Returns: the IDs of the uploads, in the order of the paths.
    @discardableResult
    private func store(_ files: [(path: String, content: [UInt8])], _ session: IntakeSession) throws -> [UploadID] {
        let ids = files.map { _ in UploadID.random() }
        for (file, id) in zip(files, ids) { _ = try session.bring(intent(file.path, id), file.content) }
        let outcomes = session.outcomes()
        #expect(outcomes.map(\.code) == files.map { _ in .committed })
        return ids
    }

    private func isKnown(_ ids: [UploadID], _ session: IntakeSession) -> [Bool] {
        var (found, rest) = ([Bool](), ids[...])
        while !rest.isEmpty {
            let some = session.lookup(Array(rest), .xxh128).map { $0 != nil }
            found += some
            rest = rest.dropFirst(max(1, some.count))
        }
        return found
    }

    /// Performs all of the adoption in the background.
    private func adoptAll(_ server: IntakeFixture) {
        for _ in 0..<1000 where server.intake.adoption.step() != .over { ground.wait(seconds: 1) }
        #expect(!server.intake.adoption.isOpen)
    }

    private func overwrite(_ path: String, _ content: [UInt8], _ session: IntakeSession) throws -> [ResultCode] {
        let begun = session.begin(intent(path), mayEnd: false)
        if let outcome = begun.outcome { return [outcome.code] }
        do throws(Failure) {
            try content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try begun.upload.write(bytes) }
            let end = DeclaredEnd(size: UInt64(content.count), digest: IntakeFixture.digest(content))
            if let outcome = try session.finish(begun.upload, end) { return [outcome.code] }
        } catch {
            return [session.refuse(begun.upload, error).code]
        }
        return session.outcomes().map(\.code)
    }

    // MARK: Adopted files

    /// Clients send nothing again and keep the ownership of their files, whether they ask before or after the
    /// background has adopted the files.
    @Test(arguments: [true, false]) func aCopyKnowsWhatTheOriginalKnew(inTheBackground: Bool) throws {
        let original = try ground.server(in: directory)
        #expect(!original.intake.adoption.isOpen)
        let files: [(String, [UInt8])] = [("a", [1, 2, 3]), ("b/c", [4, 5, 6])]
        let ids = try store(files, original.session(of: "guest", guest))
        let other = try store([("d", [7])], original.session(of: "other", guest))
        original.end()
        let copy = try ground.server(in: try ground.copy(directory))
        #expect(copy.intake.adoption.isOpen)
        if inTheBackground { adoptAll(copy) }
        let session = copy.session(of: "guest", guest)
        #expect(isKnown(ids + other, session) == [true, true, true])
        let again = session.begin(intent("a", ids[0], size: 3), mayEnd: true)
        #expect(again.outcome?.code == .committed && copy.intake.adoption.progress?.bytes ?? 7 == 7)
        // Two files in a folder use 12,814 of 14,000 bytes (`QuotaPrice`), and a third one would need more than the
        // rest.
        #expect(try overwrite("e", [1, 2, 3, 4, 5], session) == [.quotaExceeded])
        #expect(try overwrite("a", [9, 9], session) == [.committed])
        #expect(try overwrite("d", [9, 9], session) == [.forbidden])
        #expect(isKnown([ids[0], ids[1]], session) == [false, true])
        adoptAll(copy)
        copy.end()
        let next = try ground.server(in: copy.directory)
        #expect(
            !next.intake.adoption.isOpen
                && isKnown(ids + other, next.session(of: "guest", guest)) == [false, true, true])
    }

    /// Before the files are read a client may already replace its own file and no other, and the stored files count for
    /// its quota.
    @Test func nothingIsRefusedBeforeItIsRead() throws {
        let original = try ground.server(in: directory)
        try store([("a", [1, 2, 3]), ("b/c", [4, 5, 6])], original.session(of: "guest", guest))
        try store([("d", [7])], original.session(of: "other", guest))
        original.end()
        let copy = try ground.server(in: try ground.copy(directory))
        let session = copy.session(of: "guest", guest)
        #expect(try overwrite("e", [1, 2, 3, 4, 5], session) == [.quotaExceeded])
        #expect(try overwrite("d", [9, 9], session) == [.forbidden])
        #expect(try overwrite("a", [9, 9], session) == [.committed])
        #expect(try overwrite("b/c", [9], session) == [.committed])
    }

    /// A directory that was moved to another path is not a copy, so no file is read.
    @Test func aDirectoryThatIsMovedIsNoCopy() throws {
        let original = try ground.server(in: directory)
        let ids = try store([("a", [1])], original.session())
        original.end()
        let moved = try TemporaryDirectory(prefersMemory: true)
        #expect(rename(directory.path, moved.path) == 0)
        let server = try ground.server(in: moved)
        #expect(!server.intake.adoption.isOpen && isKnown(ids, server.session()) == [true])
        #expect(mkdir(directory.path, 0o755) == 0)
    }

    @Test func aMarkIsReadAsItWasMade() throws {
        try #require(try OwnFile.write([], to: directory.path("catalog"), replaces: false))
        let mark = DirectoryMark(in: directory.path, catalog: directory.path("catalog"))
        #expect(mark.read() == nil)
        let made = try mark.make().get()
        #expect(mark.read() == made)
        #expect(try mark.make().get() != made && mark.read() != made)
        let copied = try ground.copy(directory)
        let copy = DirectoryMark(in: copied.path, catalog: copied.path("catalog"))
        #expect(copy.read()?.token == mark.read()?.token && copy.read() != mark.read())
        // A mark that other users can write to, or that is malformed, is ignored.
        #expect(chmod(directory.path(DirectoryMark.fileName), 0o666) == 0 && mark.read() == nil)
        _ = try OwnFile.write([0xFF, 0x0A], to: copied.path(DirectoryMark.fileName), replaces: true)
        #expect(copy.read() == nil)
    }

    /// The first server version that records homes may already run in a copy.
    @Test func aCatalogWithoutAHome() throws {
        let original = try IntakeFixture(in: directory)
        let ids = try store([("a", [1])], original.session())
        original.end()
        let copy = try ground.server(in: try ground.copy(directory))
        #expect(copy.intake.adoption.isOpen)
        adoptAll(copy)
        #expect(isKnown(ids, copy.session()) == [true])
    }

    // MARK: What differs

    /// A file that was changed, or damaged in copying, is not adopted: content, size and time have to match.
    @Test(arguments: ["content", "size", "time"]) func onlyWhatIsTheSameIsAdopted(_ difference: String) throws {
        let original = try ground.server(in: directory)
        let ids = try store([("a", [1, 2, 3]), ("b", [4])], original.session(of: "guest", guest))
        original.end()
        let copied = try ground.copy(directory)
        let file = open(copied.path("store/a"), O_RDWR)
        if difference == "content" { #expect(pwrite(file, [9], 1, 0) == 1) }
        if difference == "size" { #expect(pwrite(file, [9], 1, 3) == 1) }
        let seconds = Int(Self.modified.seconds) + (difference == "time" ? 1 : 0)
        let time = timespec(tv_sec: seconds, tv_nsec: Int(Self.modified.nanoseconds))
        #expect(futimens(file, [time, time]) == 0)
        close(file)
        let copy = try ground.server(in: copied)
        let session = copy.session(of: "guest", guest)
        #expect(isKnown(ids, session) == [false, true])
        adoptAll(copy)
        #expect(isKnown(ids, session) == [false, true])
        let version = try #require(copy.store.version(at: try path("a")))
        #expect(copy.intake.known.isRotten(version) == (difference == "content"))
        #expect(try overwrite("a", [9, 9], session) == [.forbidden])
    }

    /// A client replaces a file with other content of equal size and time. The file may not be recorded yet when the
    /// adoption compares it with the old upload.
    @Test(arguments: [true, false]) func whatHasJustComeIsNotTakenForRotten(isRecorded: Bool) throws {
        let original = try ground.server(in: directory)
        let ids = try store([("a", [1, 2, 3])], original.session())
        original.end()
        let copy = try ground.server(in: try ground.copy(directory))
        let (session, id) = (copy.session(), UploadID.random())
        _ = try session.bring(intent("a", id), [9, 9, 9])
        #expect(session.publish().ended.isEmpty)
        if isRecorded { #expect(session.acknowledge().flatMap(\.uploads).map(\.outcome.code) == [.committed]) }
        adoptAll(copy)
        let version = try #require(copy.store.version(at: try path("a")))
        #expect(!copy.intake.known.isRotten(version))
        if !isRecorded { #expect(session.acknowledge().flatMap(\.uploads).map(\.outcome.code) == [.committed]) }
        #expect(isKnown(ids + [id], session) == [false, true])
    }

    /// Marks of rotten files in the catalog name files of the original. The copy of a rotten file stays marked until it
    /// was read, since the copy may be older than the damage.
    @Test(arguments: [true, false]) func rottenFilesStayRotten(isHealed: Bool) throws {
        let original = try ground.server(in: directory)
        let ids = try store([("a", [1, 2, 3]), ("b", [4])], original.session())
        let lost = try #require(original.store.version(at: try path("a")))
        original.intake.known.add(rotten: RottenFile(version: lost, digest: IntakeFixture.digest([1, 2, 3])))
        original.end()
        let copied = try ground.copy(directory)
        if !isHealed {
            let file = open(copied.path("store/a"), O_RDWR)
            #expect(pwrite(file, [9], 1, 0) == 1)
            let time = timespec(tv_sec: Int(Self.modified.seconds), tv_nsec: Int(Self.modified.nanoseconds))
            #expect(futimens(file, [time, time]) == 0)
            close(file)
        }
        let copy = try ground.server(in: copied)
        let version = try #require(copy.store.version(at: try path("a")))
        #expect(copy.intake.known.isRotten(version))
        // The copied file may have the number of the original by chance.
        #expect(version.hasSameContent(as: lost) || !copy.intake.known.isRotten(lost))
        adoptAll(copy)
        #expect(copy.intake.known.isRotten(version) == !isHealed)
        #expect(isKnown(ids, copy.session()) == [isHealed, true])
    }

    // MARK: Failures and changes meanwhile

    /// A file that cannot be read is not adopted. The server reports it to the operator and tries again later. Its
    /// owner may replace it after that.
    @Test func whatCannotBeReadIsTriedAgain() throws {
        let original = try ground.server(in: directory)
        let ids = try store([("a", [1, 2, 3]), ("b", [4])], original.session(of: "guest", guest))
        original.end()
        let copy = try ground.server(in: try ground.copy(directory))
        ground.fails.store(true, ordering: .relaxed)
        var steps = 0
        while copy.intake.adoption.step() == .more, steps < 100 { steps += 1 }
        #expect(ground.unreadable.withLock(\.self) == ["a", "b"])
        #expect(copy.intake.adoption.progress?.adopted == 0)
        let session = copy.session(of: "guest", guest)
        #expect(isKnown(ids, session) == [false, false])
        #expect(try overwrite("a", [9, 9], session) == [.busy])
        // The adoption reads no file before the interval has passed.
        ground.fails.store(false, ordering: .relaxed)
        #expect(copy.intake.adoption.step() == .wait)
        adoptAll(copy)
        #expect(isKnown(ids, session) == [true, true])
        #expect(try overwrite("a", [9, 9], session) == [.committed])
    }

    /// The next server continues the adoption and reads no file twice.
    @Test func aServerThatIsKilled() throws {
        let original = try ground.server(in: directory)
        let names = (100..<150).map { "f\($0)" }
        let ids = try store(names.map { ($0, Array($0.utf8)) }, original.session())
        original.end()
        let copy = try ground.server(in: try ground.copy(directory))
        #expect(copy.intake.adoption.step() == .more)
        let read = try #require(copy.intake.adoption.progress?.adopted)
        #expect(read == Adoption.filesAtOnce)
        copy.store.unlock()
        let next = try ground.server(in: copy.directory)
        #expect(next.intake.adoption.isOpen)
        while next.intake.adoption.progress.map({ $0.compared < names.count }) ?? false {
            _ = next.intake.adoption.step()
        }
        #expect(next.intake.adoption.progress?.adopted == names.count - read)
        adoptAll(next)
        #expect(isKnown(ids, next.session()) == ids.map { _ in true })
    }

    /// The client learns when to ask again, and its file is read before others.
    @Test func aLargeFileIsReadWhileItsSenderWaits() throws {
        let original = try ground.server(in: directory)
        let content = [UInt8](repeating: 0, count: Int(Adoption.mostAtOnce) + 1)
        let ids = try store([("a", [1]), ("large", content)], original.session(of: "guest", AccessOptions()))
        original.end()
        let copy = try ground.server(in: try ground.copy(directory))
        let session = copy.session(of: "guest", AccessOptions())
        #expect(isKnown([ids[1]], session) == [false])
        let first = session.begin(intent("large", ids[1], size: UInt64(content.count)), mayEnd: true)
        #expect(first.outcome?.code == .busy && first.outcome?.retryAfter?.nanoseconds ?? 0 >= 1_000_000_000)
        #expect(copy.intake.adoption.step() == .more)
        #expect(copy.intake.adoption.progress?.compared == 0)
        let second = session.begin(intent("large", ids[1], size: UInt64(content.count)), mayEnd: true)
        #expect(second.outcome?.code == .committed)
    }

    /// Reading a large file is interrupted for a file that a client waits for.
    @Test func aFileThatIsWantedIsReadFirst() throws {
        let original = try ground.server(in: directory)
        let content = [UInt8](repeating: 0, count: Int(Adoption.mostAtOnce) + 1)
        let ids = try store([("a", content), ("b", content)], original.session())
        original.end()
        let copy = try ground.server(in: try ground.copy(directory))
        let session = copy.session()
        let size = UInt64(content.count)
        let id = ids[1]
        var isAsked = false
        let step = copy.intake.adoption.step { _ in
            guard !isAsked else { return }
            isAsked = true
            #expect(session.begin(self.intent("b", id, size: size), mayEnd: true).outcome?.code == .busy)
        }
        #expect(step == .more && copy.intake.adoption.progress?.adopted == 0)
        #expect(copy.intake.adoption.step() == .more && isKnown([id], session) == [true])
        adoptAll(copy)
        #expect(isKnown(ids, session) == [true, true])
    }

    /// Files that get other names and times during the adoption are adopted as well.
    @Test func changesWhileFilesAreAdopted() throws {
        let original = try ground.server(in: directory)
        try store(["a", "b", "c", "d", "k/x"].map { ($0, Array($0.utf8)) }, original.session())
        original.end()
        let copy = try ground.server(in: try ground.copy(directory))
        let batch = TrashBatch(at: 0, number: 7)
        let time = TreeChange.Attributes(
            permissions: 0o600, modified: Timestamp(seconds: 5, nanoseconds: 0), extra: nil)
        let changes: [TreeChange] = [
            .move(try path("a"), to: try path("z"), replaces: false), .discard(try path("b"), isRecursive: false),
            .set(try path("c"), time), .hardLink(try path("h"), to: try path("d"), replaces: false, time),
            .move(try path("k"), to: try path("l"), replaces: false),
        ]
        for result in TreeChanges(copy.intake, copy.store, makeBatch: { _ in batch }).perform(changes) {
            _ = try result.get()
        }
        adoptAll(copy)
        let trashed = RelativePath.trash(batch, try path("b"))
        for place in [try path("z"), trashed, try path("c"), try path("d"), try path("h"), try path("l/x")] {
            let version = try #require(copy.store.version(at: place))
            let entries = copy.intake.known.entries(at: [place.string])[0]
            #expect(entries.contains { $0.version == version }, "\(place)")
        }
    }

    /// A file that moves across the path that the adoption has reached, in either direction, is still adopted.
    @Test func aFileThatIsMovedIsNotPassedOver() throws {
        let original = try ground.server(in: directory)
        try store((100..<150).map { ("f\($0)", [1]) }, original.session())
        original.end()
        let copy = try ground.server(in: try ground.copy(directory))
        #expect(copy.intake.adoption.step() == .more)
        let target = try path("a")
        _ = try TreeChanges(copy.intake, copy.store).perform([.move(try path("f149"), to: target, replaces: false)])[0]
            .get()
        adoptAll(copy)
        let version = try #require(copy.store.version(at: target))
        #expect(copy.intake.known.entries(at: ["a"])[0].contains { $0.version == version })
    }
}
