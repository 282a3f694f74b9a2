import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// A file to pull: the server's description of it, and its place here.
///
/// `@unchecked Sendable`: it belongs to one owner at a time, the plan or the connection that fetches it.
final class PullFile: @unchecked Sendable {
    /// The path below the folder of the server's address.
    let source: String

    /// The path below the directory that is pulled to.
    let target: RelativePath

    let entry: RemoteEntry

    /// The delivery whose content this file is; nil for a file that has a path on the server.
    let delivery: UploadID?

    /// The version of the server's file; nil for a delivery whose version the server has not stated yet.
    var version: FileVersion?

    /// The time and permissions from a delivery, which replace those of the server's file.
    var modified: Timestamp?
    var permissions: UInt16?

    /// Whether the file is stored without execute permission, whatever the sender has set.
    var losesExecution = false

    /// The owner and extended attributes that the stored file gets, along with its exact permissions, whatever the
    /// umask is; nil to store it like any new file.
    var kept: ExtraAttributes?

    /// The only local file that this file may replace; nil if it may replace any file.
    var compared: ComparedFile?

    /// The identity of the server's file if it has several names; otherwise nil.
    var named: SyncEntry.NamedFile?

    /// The bytes of an archive's memory that are released when the file is done; 0 without an archive, and for a file
    /// with several names, whose bytes stay counted.
    var held: UInt64 = 0

    /// How its content is opened when it is complete; nil to store it as it is.
    let seal: ContentSeal?

    /// The path of the opened content. Without a note it differs from `target`.
    var openedTarget: RelativePath

    /// The size of the opened content in bytes; nil if it was not opened.
    var openedSize: UInt64?

    /// How often the file was requested and failed for a reason that concerns this file alone.
    var attempts = 0

    /// Whether content that was fetched earlier turned out to be useless.
    var mustStartAnew = false

    /// When it was found, in nanoseconds of the monotonic clock.
    let started = monotonicNanoseconds()

    init(source: String, target: RelativePath, entry: RemoteEntry) {
        (self.source, self.target, self.entry) = (source, target, entry)
        (delivery, version, seal, openedTarget) = (nil, entry.version, nil, target)
    }

    /// Makes a file of the content of a delivery.
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

    /// The same file with the server's present description.
    convenience init(again file: PullFile, _ entry: RemoteEntry) {
        self.init(source: file.source, target: file.target, entry: entry)
        (attempts, kept, named, held) = (file.attempts, file.kept, file.named, file.held)
        compared = file.compared
    }

    /// The work that remains if the pull ends early.
    var remainder: PullRemainder { PullRemainder(source, to: target.string) }

    /// The digest function of the content: for a delivery, that of the sender's digest, so that both digests can be
    /// compared.
    func function(_ configuration: ClientConfiguration) -> DigestFunction {
        guard delivery != nil, let digest = entry.digest else { return configuration.digestFunction }
        return digest.algorithm.function
    }

    /// Whether content with this digest can be the listed content. A transfer states the digest of the bytes on the
    /// server's disk, a list the one in the server's catalog. Digests of different algorithms prove nothing, because a
    /// file can have been replaced by one of another length, which has another kind of digest. A delivery, however,
    /// never changes.
    func mayHave(_ digest: Digest) -> Bool {
        guard let listed = entry.digest, listed != digest else { return true }
        return listed.algorithm != digest.algorithm && delivery == nil
    }

    /// The request for the content, or a range of it.
    ///
    /// - Parameters:
    ///   - offset: the start of a block; more than 0 only if the version is known.
    ///   - length: a number of whole blocks; nil for the rest.
    func request(_ context: RequestContext, from offset: UInt64 = 0, length: UInt64? = nil) -> Request {
        let isSome = offset > 0 || length != nil
        return .fetch(
            FetchRequest(
                id: 0, path: delivery == nil ? context.remote(source) : "", digest: function(context.configuration),
                offset: offset, version: isSome ? version : nil, length: length, delivery: delivery))
    }

    /// Whether it has more than one block, so that a part of it is worth keeping.
    var isLong: Bool { entry.size > UInt64(Limits.blockSize) }

    /// The id of the part file: one half identifies the file, the other the version.
    func partID(on server: String) -> UploadID {
        // The content of a delivery never changes, whatever the server calls its file.
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

    /// The step that gives the received file its name.
    ///
    /// - Parameters:
    ///   - digest: the digest of the received content.
    ///   - found: the server's description of the content that it sent.
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

    /// - Parameter digest: the digest of the content to be published.
    func report(_ outcome: Result<PublicationOutcome, Failure>, _ digest: Digest?, resumed: UInt64 = 0) -> PullReport {
        let (code, path, version): (ResultCode, RelativePath, ContentVersion?)
        switch outcome {
        case .failure(let error): return report(error.code, error.message)
        case .success(.skipped): return report(.skipped, "\(target) exists already.")
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
