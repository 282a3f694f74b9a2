import TransferModel
import TransferPorts
import TransferStore

/// Finds files that exist already in the directory that is pulled to, and need not be fetched.
struct PresentFiles: Sendable {
    let directory: PullDirectory
    let configuration: ClientConfiguration

    /// - Parameter reader: a reader of the directory.
    /// - Returns: the report on a file that need not be fetched; nil if the file must be fetched.
    func report(of file: PullFile, _ reader: any TreeReader) throws(Failure) -> PullReport? {
        guard let here = reader.attributes(at: file.target) else { return nil }
        guard configuration.conflict != .skip || file.mayHaveFreeName(directory.reader()) else {
            return file.report(.skipped, "\(file.target) exists already.")
        }
        // A delivery is acknowledged, so its file must become durable, which happens when it is published.
        guard file.delivery == nil, !here.isDirectory, here.size == file.entry.size else { return nil }
        let seemsUnchanged = seemsUnchanged(file, here)
        if !seemsUnchanged, try !hasContent(of: file) { return nil }
        var report = file.report(.alreadyStored)
        // The digest of a file that was not read is unknown.
        (report.path, report.digest) = (file.target.string, seemsUnchanged ? nil : file.entry.digest)
        return report
    }

    /// Whether the time of the local file says that an earlier pull has stored it. Like rsync, this misses a file that
    /// was changed and then got its old size and time back. A file whose time was not set explicitly does not count,
    /// because clocks of file systems tick only every few milliseconds. After a failed sync no file counts, because its
    /// content may not be on disk.
    private func seemsUnchanged(_ file: PullFile, _ here: StoredAttributes) -> Bool {
        let (there, isGiven, here) = (file.entry.modified, here.hasGivenTime, here.modified)
        return there.seconds == here.seconds && there.nanoseconds == here.nanoseconds && isGiven
            && !configuration.comparesContent && !directory.isInDoubt
    }

    /// Reads the local file and compares it.
    private func hasContent(of file: PullFile) throws(Failure) -> Bool {
        guard let digest = file.entry.digest else { return false }
        return try directory.has(file.target, size: file.entry.size, digest: digest)
    }
}
