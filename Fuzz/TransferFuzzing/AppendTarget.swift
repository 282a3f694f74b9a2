import TransferIntake
import TransferModel
import TransferServer
import TransferPorts
import TransferStore

/// Input: which of the structures to read (1 byte), then its bytes. A slot, for either digest function, is also read with the right digest.
enum AppendTarget {
    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let kind = input.byte()
        let rest = input.rest()
        switch kind % 4 {
        case 0:
            guard let declaration = AppendDeclaration(rest) else { return }
            try require(AppendDeclaration(declaration.bytes) == declaration, "A declaration is written in another way.")
        case 1:
            let note = UploadNote(rest)
            let again = UploadNote(note.bytes)
            try require(again == note, "A note is written in another way.")
        default:
            let function: DigestFunction = kind % 4 == 2 ? .xxh128 : .sha256
            _ = AppendSlot(rest, function)
            let size = AppendSlot.size(function)
            let body = (rest + [UInt8](repeating: 0, count: size)).prefix(size - AppendSlot.checkSize)
            guard let slot = AppendSlot(body + AppendSlot.check(Array(body)), function) else {
                throw Finding("A slot with the right digest is refused.")
            }
            try require(AppendSlot(slot.bytes, function) == slot, "A slot is written in another way.")
        }
    }
}
