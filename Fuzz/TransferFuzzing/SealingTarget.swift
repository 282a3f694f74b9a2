import TransferKeys
import TransferModel
import TransferSealing

/// Input: task (1 byte), then the rest. The opening key is 32 bytes of the value 0x42, as in the examples of the age
/// format; the identity has the same bytes.
enum SealingTarget {
    private static let secret = Bytes32([UInt8](repeating: 0x42, count: Bytes32.count)) ?? Bytes32()
    private static let identity = KeyPair(secret: secret)

    /// The source of all states.
    private static let source = SealingSource(size: 3, context: [1])

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        guard let key = try? SealingKey(secret: secret) else { throw Finding("There is no key.") }
        switch input.byte() % 6 {
        case 0: try readFile(input.rest(), key)
        case 1: for text in input.texts() { try readKeys(text) }
        case 2: try readState(input.rest(), [key.recipient])
        case 3: try readCertificate(input.rest())
        case 4: try readNote(input.rest(), key)
        default: try forge(&input, key)
        }
    }

    /// The opened content and the final error do not depend on the cuts.
    private static func readFile(_ bytes: [UInt8], _ key: SealingKey) throws(Finding) {
        let whole = outcome(bytes, key, cut: max(1, bytes.count))
        for cut in [1, 17, 100] {
            let other = outcome(bytes, key, cut: cut)
            try require(other == whole, "Cut at \(cut): \(other), otherwise \(whole).")
        }
        if let error = whole.error { try require(shown: error.message) }
    }

    private struct Outcome: Equatable {
        var content: [UInt8] = []
        var error: SealingError?
    }

    private static func outcome(_ bytes: [UInt8], _ key: SealingKey, cut: Int) -> Outcome {
        var outcome = Outcome()
        do throws(SealingError) {
            let opener = Opener([key])
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(cut)
                try opener.open(piece.span.bytes, into: &outcome.content)
                rest = rest.dropFirst(piece.count)
            }
            try opener.finish(into: &outcome.content)
        } catch {
            outcome.error = error
        }
        return outcome
    }

    private static func readKeys(_ text: String) throws(Finding) {
        if let recipient = try? SealingRecipient(text: text) {
            try require(recipient.text.utf8.elementsEqual(text.utf8), "A public key has two forms.")
        }
        if let key = try? SealingKey(text: text) {
            try require((try? key.text) == text, "A secret key has two forms.")
        }
    }

    private static func readState(_ bytes: [UInt8], _ recipients: [SealingRecipient]) throws(Finding) {
        switch Result(catching: { () throws(SealingError) in
            try SealingState(decoding: bytes, sealing: source, for: recipients)
        }) {
        case .success(let state): try require((try? state.encoded) == bytes, "A state has two forms.")
        case .failure(let error): try require(shown: error.message)
        }
    }

    private static func readCertificate(_ bytes: [UInt8]) throws(Finding) {
        let list = SealingCertificate.list(bytes)
        try require(SealingCertificate.list(list.flatMap(\.encoded)) == list, "A list of certificates does not stay.")
        guard let certificate = try? SealingCertificate(decoding: bytes, of: identity.key) else { return }
        try require(list == [certificate], "A certificate is no list of one.")
        try require(certificate.encoded == bytes, "A certificate has two forms.")
    }

    /// The input is the plaintext of a note, and the target seals it. A sealed note is authenticated, so a fuzzer that
    /// changed its bytes would never reach the parser.
    private static func readNote(_ content: [UInt8], _ key: SealingKey) throws(Finding) {
        let padded = content + [UInt8](repeating: 0, count: (512 - content.count % 512) % 512)
        let sealed = try sealed(padded, key)
        switch Result(catching: { () throws(SealingError) in try SealedNote(opening: sealed, with: [key]) }) {
        case .success(let note): try require(shown: note.path.description)
        case .failure(let error): try require(shown: error.message)
        }
    }

    /// A sealed file with bytes changed, removed or added is refused.
    private static func forge(_ input: inout FuzzInput, _ key: SealingKey) throws(Finding) {
        let content = Array("content".utf8)
        let original = try sealed(content, key)
        var forged = original
        while !input.isEmpty {
            let (offset, change) = (Int(input.byte()), input.byte())
            if offset < forged.count {
                forged[offset] ^= change
            } else {
                forged = change & 1 == 0 ? Array(forged.dropLast(Int(change >> 1))) : forged + [change]
            }
        }
        let outcome = outcome(forged, key, cut: forged.count + 1)
        let isGood = outcome == Outcome(content: content)
        try require(isGood == (forged == original), "A forged file was opened: \(forged), made of \(original).")
    }

    private static func sealed(_ content: [UInt8], _ key: SealingKey) throws(Finding) -> [UInt8] {
        var sealed: [UInt8] = []
        do throws(SealingError) {
            let sealer = try Sealer(streamFor: [key.recipient])
            try sealer.seal(content.span.bytes, into: &sealed)
            try sealer.finish(into: &sealed)
            return sealed
        } catch {
            throw Finding("It cannot be sealed: \(error)")
        }
    }
}
