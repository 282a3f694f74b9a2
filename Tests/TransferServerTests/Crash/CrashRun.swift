import TransferModel
import TransferProtocol
import TransferStoreTestSupport

/// The recording of a server up to its end.
struct CrashRun: Sendable {
    var disk: DiskRecording
    let notes: [ServerRecording.Note]
    let catalogs: [ServerRecording.CatalogState]

    /// Whether a call was made to fail.
    let hasFailed: Bool

    /// Ways in which the server can end.
    enum Death: CaseIterable {
        /// A power cut: data that is not on the disk is lost, and the next server runs on another kernel.
        case machine
        /// The end of the process: its effects are there, and a later power cut can still lose data that is not on the
        /// disk.
        case process
    }

    /// Notes among the first `end` effects, in order.
    func notes(at end: Int) -> [ServerRecording.Note] {
        disk.effects[..<end].compactMap { if case .note(let number) = $0 { notes[number] } else { nil } }
    }

    /// Range of catalog states that the next server may find. A transaction exists completely or not at all, and only
    /// together with all earlier transactions. It certainly exists once it or a later transaction was synced.
    func catalogs(at end: Int, after death: Death) -> ClosedRange<Int> {
        var (oldest, newest) = (0, 0)
        for note in notes(at: end) {
            switch note {
            case .committing(let number): newest = min(number, catalogs.count - 1)
            case .committed(let number, let isSynced):
                if isSynced || death == .process { oldest = number }
                newest = max(newest, number)
            case .acknowledged, .staged, .removed: break
            }
        }
        return oldest...max(oldest, newest)
    }

    /// The last result that the client received for each upload.
    func acknowledged(at end: Int) -> [UploadID: UploadResult] {
        var acknowledged: [UploadID: UploadResult] = [:]
        for case .acknowledged(let result) in notes(at: end) { acknowledged[result.id] = result }
        return acknowledged
    }

    func removed(at end: Int) -> Set<String> {
        Set(notes(at: end).compactMap { if case .removed(let path) = $0 { path } else { nil } })
    }

    /// Chooses points at which to end the run: after each answer, at the end, and at random.
    ///
    /// - Parameter count: number of random points.
    func ends(_ count: Int, _ random: inout some RandomNumberGenerator) -> [Int] {
        let answers = disk.effects.indices.filter { index in
            guard case .note(let number) = disk.effects[index] else { return false }
            return switch notes[number] {
            case .acknowledged, .staged, .removed: true
            case .committing, .committed: false
            }
        }
        let others = (0...disk.effects.count).shuffled(using: &random).prefix(count)
        return Set(answers.map { $0 + 1 } + others + [disk.effects.count]).sorted()
    }
}
