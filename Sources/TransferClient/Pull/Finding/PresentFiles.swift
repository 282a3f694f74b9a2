import TransferModel
import TransferPorts
import TransferStore

/// What is in the directory that is pulled to, and so need not be fetched.
struct PresentFiles: Sendable {
    let directory: PullDirectory
    let configuration: ClientConfiguration

    /// - Parameter reader: of the directory.
    /// - Returns: nothing for a file that has to be fetched.
    func report(of file: PullFile, _ reader: any TreeReader) throws(Failure) -> PullReport? {
        guard let here = reader.attributes(at: file.target) else { return nil }
        guard configuration.conflict != .skip || file.mayHaveFreeName(directory.reader()) else {
            return file.report(.skipped, "\(file.target) was here already.")
        }
        // A delivery is acknowledged, so it has to be made durable, which happens when it is published.
        guard file.delivery == nil, !here.isDirectory, here.size == file.entry.size else { return nil }
        let seemsUnchanged = seemsUnchanged(file, here)
        if !seemsUnchanged, try !hasContent(of: file) { return nil }
        var report = file.report(.alreadyStored)
        // Of what was not read nobody knows the digest.
        (report.path, report.digest) = (file.target.string, seemsUnchanged ? nil : file.entry.digest)
        return report
    }

    /// Whether it is what an earlier pull has stored, by its time: a file that was changed and then given its old size and time
    /// again seems unchanged, as it does to rsync. One that was only written here does not, whatever its time: the clocks of
    /// file systems have ticks of milliseconds. Where a sync has failed nothing does: its content may not be on disk.
    private func seemsUnchanged(_ file: PullFile, _ here: StoredAttributes) -> Bool {
        let (there, isGiven, here) = (file.entry.modified, here.hasGivenTime, here.modified)
        return there.seconds == here.seconds && there.nanoseconds == here.nanoseconds && isGiven
            && !configuration.comparesContent && !directory.isInDoubt
    }

    /// Reads what has the path on this machine.
    private func hasContent(of file: PullFile) throws(Failure) -> Bool {
        guard let digest = file.entry.digest else { return false }
        return try directory.has(file.target, size: file.entry.size, digest: digest)
    }
}
