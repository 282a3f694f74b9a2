import TransferClient
import TransferModel
import TransferPorts
import TransferStore

/// Records that a client keeps for its later runs. Input: kind (1 byte), the bytes of the file.
enum RecordTarget {
    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        switch input.byte() % 2 {
        case 0: try readSealingRecord(input.rest())
        default: try readReceivedFile(input.rest())
        }
    }

    /// A record has only one encoding, and names an upload.
    private static func readSealingRecord(_ bytes: [UInt8]) throws(Finding) {
        guard let record = SealingRecord(bytes) else { return }
        try require(record.encoded == bytes, "A record of a sealed file has two forms.")
        try require(record.id != .none, "A record is about no upload.")
    }

    /// A line that was read is written and read as an equal record, and its path does not leave the folder.
    private static func readReceivedFile(_ line: [UInt8]) throws(Finding) {
        guard let file = ReceivedFile(line: line) else { return }
        try require(ReceivedFile(line: file.line) == file, "A received file does not come back.")
        try require(file.note?.count ?? ReceivedFile.noteSize == ReceivedFile.noteSize, "A note has another digest.")
        let parts = file.path.string.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        try require(parts.allSatisfy { !$0.isEmpty && !$0.elementsEqual("..".utf8) }, "A received file lies elsewhere.")
    }
}
