import Testing

@testable import TransferSealing

@Suite struct SealingErrorTests {
    @Test(arguments: [
        SealingError.notSealed, .unsupported("It"), .malformed("It is."), .tooLarge("It is."), .notForYou, .damaged,
        .truncated,
        .trailingData, .weakKey, .wrongSigner, .otherSource, .ended, .failed("It"),
    ]) func saysOneSentence(_ error: SealingError) {
        #expect(error.message.first?.isUppercase == true)
        #expect(error.message.hasSuffix(".") && "\(error)" == error.message)
    }
}
