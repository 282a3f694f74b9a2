import TransferClient
import TransferModel
import TransferPorts
import TransferStore

/// What a client keeps for later runs of itself. Input: which kind (1 byte), the bytes of the file.
enum RecordTarget {
    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        switch input.byte() % 2 {
        case 0: try readSealingRecord(input.rest())
        default: try readReceivedFile(input.rest())
        }
    }

    /// It has one form, and is about an upload.
    private static func readSealingRecord(_ bytes: [UInt8]) throws(Finding) {
        guard let record = SealingRecord(bytes) else { return }
        try require(record.encoded == bytes, "A record of a sealed file has two forms.")
        try require(record.id != .none, "A record is about no upload.")
    }

    /// What is read of a line is what the line that is written of it says, and leads nowhere else.
    private static func readReceivedFile(_ line: [UInt8]) throws(Finding) {
        guard let file = ReceivedFile(line: line) else { return }
        try require(ReceivedFile(line: file.line) == file, "A received file does not come back.")
        try require(file.note?.count ?? ReceivedFile.noteSize == ReceivedFile.noteSize, "A note has another digest.")
        let parts = file.path.string.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        try require(parts.allSatisfy { !$0.isEmpty && !$0.elementsEqual("..".utf8) }, "A received file lies elsewhere.")
    }
}
