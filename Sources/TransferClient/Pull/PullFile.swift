import TransferCodec
import TransferModel
import TransferProtocol
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

    /// How often it was asked for, and had to be asked for again for a reason of its own.
    var attempts = 0

    /// Whether what was fetched earlier was found to be of no use.
    var mustStartAnew = false

    /// Nanoseconds of the monotonic clock.
    let started = monotonicNanoseconds()

    init(source: String, target: RelativePath, entry: RemoteEntry) {
        (self.source, self.target, self.entry) = (source, target, entry)
    }

    /// The same with what the server says of it now.
    convenience init(again file: PullFile, _ entry: RemoteEntry) {
        self.init(source: file.source, target: file.target, entry: entry)
        attempts = file.attempts
    }

    /// Whether it comes in more than one block, so that half of it is worth keeping.
    var isLong: Bool { entry.size > UInt64(Limits.blockSize) }

    /// Under what name its part waits: the first half says which file it is, the second of what version.
    func partID(on server: String) -> UploadID {
        let name = Array("\(server.utf8.count) \(server) \(source.utf8.count) \(source) \(target.string)".utf8)
        let digest = name.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
        return UploadID(
            high: UploadID(derivedFrom: digest).high,
            low: entry.version.high ^ entry.version.low &* 0x9E37_79B9_7F4A_7C15)
    }

    /// - Parameter digest: of what was to be published.
    func report(_ outcome: Result<PublicationOutcome, StoreError>, _ digest: Digest?, resumed: UInt64 = 0) -> PullReport
    {
        let (code, path): (ResultCode, RelativePath)
        switch outcome {
        case .failure(let error): return report(error.code, error.message)
        case .success(.skipped): return report(.skipped, "\(target) was here already.")
        case .success(.committed(let place, _)), .success(.restored(let place, _)), .success(.healed(let place, _)):
            (code, path) = (.committed, place)
        case .success(.alreadyStored(let place, _)): (code, path) = (.alreadyStored, place)
        }
        var report = report(code)
        (report.path, report.digest, report.resumed) = (path.string, digest, resumed)
        return report
    }

    func report(_ result: ResultCode, _ message: String = "") -> PullReport {
        PullReport(
            source: source, result: result, size: entry.size,
            seconds: Double(monotonicNanoseconds() - started) / 1e9, message: message)
    }
}
