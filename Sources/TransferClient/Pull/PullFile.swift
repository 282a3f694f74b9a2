import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// A file to be pulled: what the server has said of it, and where it goes.
///
/// `@unchecked Sendable`: it is in one hand at a time, that of the plan or of the connection that fetches it.
final class PullFile: @unchecked Sendable {
    /// Below the folder of the server's address.
    let source: String

    /// Below the directory that is pulled to.
    let target: RelativePath

    let entry: RemoteEntry

    /// The delivery that it is the content of; nothing for a file that has a path on the server.
    let delivery: UploadID?

    /// What the server's file is told from others by; nothing for a delivery of which the server has not said it.
    var version: FileVersion?

    /// What a delivery says of it, where the server's file says nothing.
    var modified: Timestamp?
    var permissions: UInt16?

    /// Whether the file is stored without execute permission, whatever the sender has set.
    var losesExecution = false

    /// Owner and extended attributes that it gets, and its permissions whatever the umask says; nothing where it is a new file as
    /// any other.
    var kept: ExtraAttributes?

    /// What it may take the place of; nothing for whatever is there.
    var compared: ComparedFile?

    /// Of a file with several names on the server.
    var named: SyncEntry.NamedFile?

    /// Bytes for which it counts among what is held, until it is done; 0 for what counts longer, or not at all.
    var held: UInt64 = 0

    /// How its content is opened when all of it is here; nothing for what is stored as it comes.
    let seal: ContentSeal?

    /// Where what was opened goes: what has no note is called otherwise then.
    var openedTarget: RelativePath

    /// Bytes of its content, when it was opened.
    var openedSize: UInt64?

    /// How often it was asked for, and had to be asked for again for a reason of its own.
    var attempts = 0

    /// Whether what was fetched earlier was found to be of no use.
    var mustStartAnew = false

    /// Nanoseconds of the monotonic clock.
    let started = monotonicNanoseconds()

    init(source: String, target: RelativePath, entry: RemoteEntry) {
        (self.source, self.target, self.entry) = (source, target, entry)
        (delivery, version, seal, openedTarget) = (nil, entry.version, nil, target)
    }

    /// The content of a delivery.
    init(_ delivery: Delivery, target: RelativePath, _ seal: ContentSeal? = nil) {
        (source, self.target, self.delivery) = (delivery.shownName, target, delivery.id)
        (self.seal, openedTarget) = (seal, target)
        entry = RemoteEntry(
            path: delivery.name, isDirectory: false, size: delivery.size,
            modified: .init(seconds: delivery.modified?.seconds ?? 0, nanoseconds: delivery.modified?.nanoseconds ?? 0),
            permissions: delivery.permissions ?? 0, kind: delivery.kind, digest: delivery.digest, stored: nil,
            version: .none)
        version = nil
        (modified, permissions) = (delivery.modified, delivery.permissions)
        guard let note = seal?.note else { return }
        (modified, permissions) = (note.modified, note.permissions)
    }

    /// The same with what the server says of it now.
    convenience init(again file: PullFile, _ entry: RemoteEntry) {
        self.init(source: file.source, target: file.target, entry: entry)
        (attempts, kept, named, held) = (file.attempts, file.kept, file.named, file.held)
        compared = file.compared
    }

    /// What is left to do when the pull ends.
    var remainder: PullRemainder { PullRemainder(source, to: target.string) }

    /// How its content is digested: that of a delivery as its sender has done it, so that both can be compared.
    func function(_ configuration: ClientConfiguration) -> DigestFunction {
        guard delivery != nil, let digest = entry.digest else { return configuration.digestFunction }
        return digest.algorithm.function
    }

    /// Whether content with this digest is what the server has listed: it has read what is on its disk, and its catalog knows what
    /// was put there. A file may be another one by now, of another length and therefore with another kind of digest; a delivery
    /// never is.
    func mayHave(_ digest: Digest) -> Bool {
        guard let listed = entry.digest, listed != digest else { return true }
        return listed.algorithm != digest.algorithm && delivery == nil
    }

    /// Asks for it, or for some of it.
    ///
    /// - Parameters:
    ///   - offset: the start of a block; more than 0 only when the version is known.
    ///   - length: whole blocks; nothing for all of the rest.
    func request(_ context: RequestContext, from offset: UInt64 = 0, length: UInt64? = nil) -> Request {
        let isSome = offset > 0 || length != nil
        return .fetch(
            FetchRequest(
                id: 0, path: delivery == nil ? context.remote(source) : "", digest: function(context.configuration),
                offset: offset, version: isSome ? version : nil, length: length, delivery: delivery))
    }

    /// Whether it comes in more than one block, so that half of it is worth keeping.
    var isLong: Bool { entry.size > UInt64(Limits.blockSize) }

    /// Under what name its part waits: the first half says which file it is, the second of what version.
    func partID(on server: String) -> UploadID {
        // What a delivery is never changes, whatever the server calls its file today.
        if let delivery { return delivery }
        let name = Array("\(server.utf8.count) \(server) \(source.utf8.count) \(source) \(target.string)".utf8)
        let digest = name.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
        return UploadID(
            high: UploadID(derivedFrom: digest).high,
            low: entry.version.high ^ entry.version.low &* 0x9E37_79B9_7F4A_7C15)
    }

    /// The permissions to store the file with.
    ///
    /// - Parameter found: the server's description of the content that it sends.
    func permissions(or found: FetchedFile) -> UInt16 {
        let wanted = permissions ?? found.permissions
        return losesExecution ? wanted & 0o666 : wanted
    }

    /// How it gets its name.
    ///
    /// - Parameters:
    ///   - digest: of what has come.
    ///   - found: what the server said of what it sent.
    func publication(
        _ staged: StagedFile, size: UInt64, _ digest: Digest, _ conflict: ConflictPolicy, _ found: FetchedFile
    ) -> Publication {
        var publication = Publication(
            staged: staged, id: partID(on: ""), path: target, size: size, digest: digest, conflict: conflict,
            modified: modified ?? found.modified, permissions: permissions(or: found))
        (publication.keepsPermissions, publication.attributes) = (kept != nil, kept)
        publication.compared = compared
        return publication
    }

    /// - Parameter digest: of what was to be published.
    func report(_ outcome: Result<PublicationOutcome, Failure>, _ digest: Digest?, resumed: UInt64 = 0) -> PullReport {
        let (code, path, version): (ResultCode, RelativePath, ContentVersion?)
        switch outcome {
        case .failure(let error): return report(error.code, error.message)
        case .success(.skipped): return report(.skipped, "\(target) was here already.")
        case .success(.committed(let place, let file)), .success(.restored(let place, let file)),
            .success(.healed(let place, let file)):
            (code, path, version) = (.committed, place, file)
        case .success(.alreadyStored(let place, let file)): (code, path, version) = (.alreadyStored, place, file)
        }
        var report = report(code)
        (report.path, report.digest, report.resumed, report.version) = (path.string, digest, resumed, version)
        return report
    }

    func report(_ result: ResultCode, _ message: String = "") -> PullReport {
        var report = PullReport(
            source: source, result: result, size: openedSize ?? entry.size,
            seconds: Double(monotonicNanoseconds() - started) / 1e9, message: message)
        (report.delivery, report.target) = (delivery, target.string)
        (report.travelled, report.isOpened) = (entry.size, openedSize != nil)
        return report
    }
}
