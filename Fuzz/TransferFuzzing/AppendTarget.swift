import TransferIntake
import TransferServer
import TransferPorts
import TransferStore

/// Input: which of the three structures to read (1 byte), then its bytes. A slot is also read with the right digest.
enum AppendTarget {
    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let kind = input.byte()
        let rest = input.rest()
        switch kind % 3 {
        case 0:
            guard let declaration = AppendDeclaration(rest) else { return }
            try require(AppendDeclaration(declaration.bytes) == declaration, "A declaration is written in another way.")
        case 1:
            let note = UploadNote(rest)
            let again = UploadNote(note.bytes)
            try require(again == note, "A note is written in another way.")
        default:
            _ = AppendSlot(rest)
            let body = (rest + [UInt8](repeating: 0, count: AppendSlot.size)).prefix(
                AppendSlot.size - AppendSlot.digestSize)
            guard let slot = AppendSlot(body + AppendSlot.check(Array(body))) else {
                throw Finding("A slot with the right digest is refused.")
            }
            try require(AppendSlot(slot.bytes) == slot, "A slot is written in another way.")
        }
    }
}
