import Testing
import TransferKeys

@testable import TransferSealing

@Suite struct SealedHeaderTests {
    @Test(arguments: [1, 2, 10]) func everyRecipientCanOpen(_ count: Int) throws {
        let keys = try (0..<count).map { try Sample.key(UInt8($0 + 50)) }
        let content = Sample.content(100)
        let sealed = try Sample.sealed(content, for: keys.map(\.recipient))
        for key in keys { #expect(try Sample.opened(sealed, [key]) == content) }
        #expect(try Sample.opened(sealed, [Sample.key(), keys[0]]) == content)
        #expect(throws: SealingError.notForYou) { try Sample.opened(sealed) }
        #expect(throws: SealingError.notForYou) { try Sample.opened(sealed, []) }
    }

    @Test func recipientsAreBounded() throws {
        let one = try Sample.key().recipient
        let key = try Sample.key(3)
        let most = [SealingRecipient](repeating: one, count: SealedHeader.mostRecipients)
        let header = try SealedHeader(Sample.fileKey(), for: most) { key }
        #expect(header.bytes.count <= SealedHeader.longest)
        #expect(throws: SealingError.self) { try SealedHeader(Sample.fileKey(), for: most + [one]) { key } }
        #expect(throws: SealingError.self) { try SealedHeader(Sample.fileKey(), for: []) }
    }

    /// Two stanzas for one key differ, so a reader cannot see who the recipient is.
    @Test func stanzasTellNothing() throws {
        let recipient = try Sample.key().recipient
        let header = try SealedHeader(Sample.fileKey(), for: [recipient, recipient])
        #expect(header.stanzas[0] != header.stanzas[1])
    }

    @Test func whatIsWrittenIsRead() throws {
        let header = try SealedHeader(Sample.fileKey(), for: [Sample.key().recipient, Sample.key(1).recipient])
        var scanner = HeaderScanner()
        var consumed = 0
        let again = try scanner.scan(header.bytes.span.bytes, consumed: &consumed)
        #expect(again == header)
        #expect(try header.fileKey([Sample.key(1)]).secret.hasSameBytes(as: Sample.fileKey().secret))
    }

    /// The header's code covers every byte of the header, or the byte is needed for a valid header.
    @Test func everyByteMatters() throws {
        let sealed = try Sample.sealed([1, 2, 3])
        for index in 0..<(try Sample.headerSize(sealed)) {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: SealingError.self, "byte \(index)") { try Sample.opened(changed) }
        }
    }

    /// Stanzas of unknown types are skipped, but the code covers them.
    @Test func unknownStanzasArePassedOver() throws {
        let mine = try Sample.stanza().text
        let grease = "-> x-grease !~ a\nAAAA\n"
        for stanzas in [grease + mine, mine + grease, grease + mine + grease] {
            #expect(try Sample.opened(Sample.file(stanzas)) == [1, 2, 3])
        }
        let file = try Sample.file(mine + grease)
        let text = String(decoding: file.prefix(200), as: UTF8.self).replacing("grease", with: "Grease")
        #expect(throws: SealingError.damaged) { try Sample.opened(Array(text.utf8) + file.dropFirst(200)) }
        #expect(throws: SealingError.notForYou) { try Sample.opened(Sample.file(grease)) }
        #expect(throws: SealingError.notForYou) {
            try Sample.opened(Sample.file(mine.replacing("X25519", with: "x25519")))
        }
    }

    @Test func aCodeUnderAnotherKeyIsDamage() throws {
        let mine = try Sample.stanza(Sample.fileKey(8)).text
        #expect(throws: SealingError.damaged) { try Sample.opened(Sample.file(mine)) }
    }
}
