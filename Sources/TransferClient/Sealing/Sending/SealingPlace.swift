internal import CLinux
import Glibc
import TransferCodec
import TransferKeys
import TransferModel
import TransferSealing
import TransferPorts
import TransferStore
import TransferSystem

/// Where the secrets of one sealed file are while it is on its way, and afterwards that it has arrived: a file that only its
/// owner can read, in a folder that only its owner can enter.
struct SealingPlace: Sendable {
    /// What is there.
    enum Found {
        case state(SealingState)
        /// The server has acknowledged it.
        case record(SealingRecord)
    }

    let path: String

    /// In front of what is kept: which of the two it is.
    private static let (stateMark, recordMark) = (UInt8(ascii: "S"), UInt8(ascii: "R"))

    /// - Parameters:
    ///   - folder: of all of them.
    ///   - words: what tells one from another.
    init(in folder: StateFolder, _ words: [String]) {
        path = folder.file("transfer sealing place 1", words)
    }

    /// - Parameters:
    ///   - source: as it is now.
    ///   - recipients: those that it is to be sealed for.
    /// - Returns: nothing where there is nothing that can be used.
    /// - Throws: `sourceUnreadable` when that cannot be said.
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

    /// Keeps secrets, in place of whatever was there. `makeDurable` has to follow before anything is sent that was sealed with
    /// them.
    ///
    /// - Returns: what is there now: another program may have been faster.
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

    /// The secrets are needed no more: what stays says that the file has arrived. Without that it would only be sent again,
    /// and the server would know it.
    func keep(_ record: SealingRecord) {
        let bytes = [Self.recordMark] + record.encoded
        if (try? OwnFile.writeUnsynced(bytes, to: path, replaces: true)) == nil { remove() }
    }

    /// Threads that wait for the disk: one at a time would take as long for each small file as for all of them.
    private static let syncThreads = 16

    /// Makes places durable, together. One of which that fails is removed: it would be of no use, and nothing must be sealed
    /// with what may have been lost.
    ///
    /// - Parameter paths: in one folder.
    static func makeDurable(_ paths: [String]) {
        guard let first = paths.first else { return }
        inParallel(on: syncThreads, paths.count) { index in
            if (try? OwnFile.sync(paths[index])) == nil { unlink(paths[index]) }
        }
        if (try? OwnFile.sync(folder: OwnFile.folder(of: first))) == nil {
            for path in paths { unlink(path) }
        }
    }

    /// Whether anything is there.
    var exists: Bool { OwnFile.identity(of: path) != nil }

    func remove() { unlink(path) }

    private func attempt<Value>(_ body: () throws(SystemError) -> Value) throws(Failure) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw Failure(
                .sourceUnreadable,
                "It could not be sealed: what is needed to go on after an interruption cannot be kept in "
                    + "'\(path.escapedForDisplay)': \(error.reason).")
        }
    }
}
