import Glibc
import TransferCodec
import TransferIO
import TransferProtocol
import TransferSystem

/// A source was left where it is; nothing was removed.
public struct SourceKept: Error, Sendable, Equatable {
    /// Why; a sentence.
    public let reason: String
}

extension TransferClient {
    /// Removes the file that was pushed. Only when the server has made durable exactly what the file holds, and it is still
    /// the same file with the same size and time of modification; one that was not read for the push, because the server
    /// knew it, is read and compared before. Directories stay.
    ///
    /// - Parameter report: of a push of this client.
    /// - Throws: `SourceKept`, and the file is left.
    public func removeSource(of report: UploadReport) async throws(SourceKept) {
        let result = await pool.run { Result { () throws(SourceKept) in try Self.remove(report) } }
        try result.get()
    }

    /// Looks at the file of a report for what picture it is, where it was not read for the push.
    public func picture(of report: UploadReport) async -> Picture? {
        guard report.picture == nil, report.kind == .picture, report.isPath else { return report.picture }
        return await pool.run {
            guard let file = try? SourceFile(path: report.source, followsLinks: true), file.identity == report.file
            else {
                return nil
            }
            return Picture(ContentReader(file))
        }
    }

    /// Bytes read at once to compare.
    private static let readSize = 1 << 20

    private static func remove(_ report: UploadReport) throws(SourceKept) {
        guard [.committed, .alreadyStored].contains(report.result), report.isDurable, let digest = report.digest else {
            throw SourceKept(reason: "The server has not said that it is durable.")
        }
        guard let pushed = report.file else { throw SourceKept(reason: "It is no file.") }
        do throws(LocalFailure) {
            let file = try SourceFile(path: report.source, followsLinks: false)
            guard file.identity == pushed else { throw .changed }
            if !report.isRead, try Self.digest(of: file, digest.algorithm.function) != digest { throw .changed }
            try file.checkUnchanged()
        } catch {
            let isOther = error.code == .sourceChanged
            throw SourceKept(reason: isOther ? "It has changed since it was pushed." : error.message)
        }
        guard unlink(report.source) == 0 else {
            throw SourceKept(reason: LocalFailure.unreadable(SystemError(errno: errno, call: "unlink")).message)
        }
    }

    private static func digest(of file: SourceFile, _ function: DigestFunction) throws(LocalFailure) -> Digest {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: readSize, alignment: 4096)
        defer { buffer.deallocate() }
        let digester = ContentDigester(function)
        while true {
            let count = try file.read(into: buffer)
            guard count > 0 else { return digester.finish().digest }
            digester.update(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { _, _ in }
        }
    }
}
