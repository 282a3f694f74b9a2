internal import CLinux
import Glibc
import TransferCodec
import TransferKeys
import TransferModel
import TransferSealing
import TransferPorts
import TransferStore
import TransferSystem

/// The file that keeps the secrets of one sealed file while it is sent, and afterwards the record that it has arrived.
/// Only its owner can read it, and only the owner can enter its folder.
struct SealingPlace: Sendable {
    /// The usable content of the file.
    enum Found {
        case state(SealingState)
        /// The server has acknowledged the upload.
        case record(SealingRecord)
    }

    let path: String

    /// The first byte of the file, which says what follows.
    private static let (stateMark, recordMark) = (UInt8(ascii: "S"), UInt8(ascii: "R"))

    /// - Parameters:
    ///   - folder: the folder of all these files.
    ///   - words: identify the upload.
    init(in folder: StateFolder, _ words: [String]) {
        path = folder.file("transfer sealing place 1", words)
    }

    /// - Parameters:
    ///   - source: the source as it is now.
    ///   - recipients: the recipients that it is to be sealed for.
    /// - Returns: nil if there is no usable content.
    /// - Throws: `sourceUnreadable` if the file cannot be read.
    func find(_ source: SealingSource, _ recipients: [SealingRecipient]) throws(Failure) -> Found? {
        let limit = max(SealingState.longest, SealingRecord.size) + 1
        let file = try attempt { () throws(SystemError) in try OwnFile(reading: path, atMost: limit) }
        guard let file, file.isPrivate, !file.isLonger, let mark = file.content.first else { return nil }
        let bytes = Array(file.content.dropFirst())
        switch mark {
        case Self.stateMark:
            return (try? SealingState(decoding: bytes, sealing: source, for: recipients)).map { .state($0) }
        case Self.recordMark:
            guard let record = SealingRecord(bytes), let binding = try? source.binding(recipients) else { return nil }
            return record.binding == binding ? .record(record) : nil
        default: return nil
        }
    }

    /// Keeps secrets, in place of any others if `replaces` is set. Call `makeDurable` before anything is sent that was
    /// sealed with them.
    ///
    /// - Returns: the secrets that the file has now; another process may have written others first.
    func keep(
        _ state: SealingState, _ source: SealingSource, _ recipients: [SealingRecipient], replaces: Bool
    ) throws(Failure) -> SealingState {
        let bytes = try Failure.whileSealing { () throws(SealingError) in
            [Self.stateMark] + (try state.encoded)
        }
        let isWritten = try attempt { () throws(SystemError) in
            try StateFolder.write(bytes, to: path, replaces: replaces)
        }
        guard !isWritten else { return state }
        guard case .state(let other)? = try find(source, recipients) else {
            return try keep(state, source, recipients, replaces: true)
        }
        return other
    }

    /// Replaces the secrets by the record that the file has arrived. Without the record, the file would only be sealed
    /// and sent again.
    func keep(_ record: SealingRecord) {
        let bytes = [Self.recordMark] + record.encoded
        if (try? OwnFile.writeUnsynced(bytes, to: path, replaces: true)) == nil { remove() }
    }

    /// Files that are synced at the same time: the disk takes about as long for one of them as for all together.
    private static let syncThreads = 16

    /// Makes files durable, together. A file that cannot be synced is removed, because no upload may be continued with
    /// secrets that may be lost.
    ///
    /// - Parameter paths: files of one folder.
    static func makeDurable(_ paths: [String]) {
        guard let first = paths.first else { return }
        inParallel(on: syncThreads, paths.count) { index in
            if (try? OwnFile.sync(paths[index])) == nil { unlink(paths[index]) }
        }
        if (try? OwnFile.sync(folder: OwnFile.folder(of: first))) == nil {
            for path in paths { unlink(path) }
        }
    }

    /// Whether the file exists, whatever it contains.
    var exists: Bool { OwnFile.identity(of: path) != nil }

    func remove() { unlink(path) }

    private func attempt<Value>(_ body: () throws(SystemError) -> Value) throws(Failure) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw Failure(
                .sourceUnreadable,
                "It could not be sealed: the state that resumes it after an interruption cannot be "
                    + "saved in '\(path.escapedForDisplay)': \(error.reason).")
        }
    }
}
