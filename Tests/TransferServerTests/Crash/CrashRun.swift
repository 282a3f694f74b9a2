import TransferModel
import TransferProtocol
import TransferStoreTestSupport

/// What was recorded of a server, up to its end.
struct CrashRun: Sendable {
    var disk: DiskRecording
    let notes: [ServerRecording.Note]
    let catalogs: [ServerRecording.CatalogState]

    /// Whether a call was made to fail.
    let hasFailed: Bool

    /// How the server ends.
    enum Death: CaseIterable {
        /// What is not on the disk is lost, and the next server runs on another kernel.
        case machine
        /// What it did is there. What is not on the disk can be lost later.
        case process
    }

    /// What was noted in the first of the effects, in order.
    func notes(at end: Int) -> [ServerRecording.Note] {
        disk.effects[..<end].compactMap { if case .note(let number) = $0 { notes[number] } else { nil } }
    }

    /// The catalogs that may be found. A transaction is there as a whole or not at all, and with all that came before it;
    /// it is there once it, or a later one, was synced.
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

    /// The last that was said of each upload.
    func acknowledged(at end: Int) -> [UploadID: UploadResult] {
        var acknowledged: [UploadID: UploadResult] = [:]
        for case .acknowledged(let result) in notes(at: end) { acknowledged[result.id] = result }
        return acknowledged
    }

    func removed(at end: Int) -> Set<String> {
        Set(notes(at: end).compactMap { if case .removed(let path) = $0 { path } else { nil } })
    }

    /// Points at which to end it: behind each answer, at the end, and others by chance.
    ///
    /// - Parameter count: of others.
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
