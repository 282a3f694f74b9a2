import Testing
import TransferKeys

@testable import TransferSealing

@Suite struct SealingStateTests {
    private let recipients: [SealingRecipient]
    private let source = SealingSource(size: 1000, context: [1, 2, 3])
    private let state: SealingState

    init() throws {
        recipients = [try Sample.key().recipient, try Sample.key(1).recipient]
        state = try SealingState(sealing: source, for: recipients)
    }

    private func decoded(
        _ bytes: [UInt8], _ source: SealingSource? = nil, _ recipients: [SealingRecipient]? = nil
    ) throws(SealingError) -> SealingState {
        try SealingState(decoding: bytes, sealing: source ?? self.source, for: recipients ?? self.recipients)
    }

    @Test func comesBack() throws {
        let bytes = try state.encoded
        let again = try decoded(bytes)
        #expect(try again.encoded == bytes && bytes.count <= SealingState.longest)
        #expect(again.header == state.header && again.layout == state.layout)
        #expect(try decoded(bytes, nil, recipients.reversed()).layout == state.layout)
        #expect(try again.tag == state.tag)
    }

    @Test func isForOneSourceAndItsRecipients() throws {
        let bytes = try state.encoded
        for other in [
            SealingSource(size: 1001, context: [1, 2, 3]), SealingSource(size: 1000, context: [1, 2, 4]),
            SealingSource(size: 1000, context: [1, 2, 3, 0]), SealingSource(size: 1000, context: []),
        ] {
            #expect(throws: SealingError.otherSource) { try decoded(bytes, other) }
        }
        for others in [
            [recipients[0]], [], recipients + [recipients[0]], [recipients[0], try Sample.key(2).recipient],
        ] {
            #expect(throws: SealingError.otherSource) { try decoded(bytes, nil, others) }
        }
    }

    /// Two states of one source share no secret.
    @Test func newOnesDiffer() throws {
        let other = try SealingState(sealing: source, for: recipients)
        #expect(other.nonce != state.nonce && !other.fileKey.secret.hasSameBytes(as: state.fileKey.secret))
        #expect(other.header != state.header)
        #expect(try other.tag != state.tag)
    }

    @Test func everyByteMatters() throws {
        let bytes = try state.encoded
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(throws: SealingError.self, "byte \(index)") { try decoded(changed) }
        }
        for count in bytes.indices {
            #expect(throws: SealingError.self) { try decoded(Array(bytes.prefix(count))) }
        }
        #expect(throws: SealingError.self) { try decoded(bytes + [0]) }
        #expect(throws: SealingError.self) { try decoded([UInt8](repeating: 1, count: SealingState.longest + 1)) }
    }

    /// A right digest is not enough: key and header have to belong to one file.
    @Test func partsOfTwoAreNone() throws {
        let other = try SealingState(sealing: source, for: recipients)
        let mixed = try SealingState(
            other.header, state.fileKey, state.nonce, size: source.size, binding: state.binding)
        #expect(throws: SealingError.damaged) { try decoded(mixed.encoded) }
        let wrongSize = try SealingState(
            state.header, state.fileKey, state.nonce, size: 999, binding: state.binding)
        #expect(throws: SealingError.otherSource) { try decoded(wrongSize.encoded) }
    }

    @Test func showsNothing() {
        #expect("\(state)" == "SealingState(...)")
        #expect(Array(Mirror(reflecting: state).children).isEmpty)
    }

    @Test func whatIsLongerThanAnyUploadIsRefused() {
        #expect(throws: SealingError.self) {
            try SealingState(sealing: SealingSource(size: .max, context: []), for: recipients)
        }
    }
}
