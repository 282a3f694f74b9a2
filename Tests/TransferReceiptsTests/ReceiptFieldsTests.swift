import Testing
import TransferKeys
import TransferModel

@testable import TransferReceipts

/// A receipt with impossible fields is refused before it is verified.
@Suite struct ReceiptFieldsTests {
    private func isRead(
        _ result: ResultCode = .committed, _ algorithm: DigestAlgorithm = .xxh128, size: UInt64 = 5, index: UInt32 = 0
    ) -> Bool {
        let sample = Sample.upload(1)
        let receipt = Receipt(
            number: 1, uploadID: sample.uploadID, path: sample.path, kind: .text, size: size,
            digest: Digest(algorithm, [UInt8](repeating: 1, count: algorithm.function.size)), result: result,
            sender: "x", time: ReceiptTime(clamping: 1), server: Sample.key)
        let signed = SignedReceipt(
            receipt, text: receipt.text, index: index, treeSize: 2, inclusion: [Bytes32()],
            signature: [UInt8](repeating: 1, count: ServerKey.signatureSize))
        return (try? SignedReceipt(decoding: signed.encoded)) != nil
    }

    @Test func aReceiptIsAboutASuccess() {
        #expect(isRead(.committed) && isRead(.alreadyStored))
        for result in [ResultCode.staged, .skipped, .busy, .digestMismatch] { #expect(!isRead(result)) }
    }

    @Test func aDigestIsOneOfContentOfThatSize() {
        let block = UInt64(Limits.blockSize)
        #expect(isRead(.committed, .xxh128, size: block) && !isRead(.committed, .xxh128, size: block + 1))
        let tree = DigestFunction.xxh128.tree
        #expect(isRead(.committed, tree, size: block + 1) && !isRead(.committed, tree, size: block))
    }

    @Test func aLeafIsOneOfItsTree() {
        #expect(isRead(index: 0) && isRead(index: 1) && !isRead(index: 2))
    }
}
