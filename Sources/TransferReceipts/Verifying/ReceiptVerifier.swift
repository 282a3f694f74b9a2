import TransferKeys

/// Verifies several receipts in order. Those of one batch share their signature and most of their way to the root, so
/// that each costs little more than the hash of one text.
///
/// It belongs to one task at a time.
package final class ReceiptVerifier {
    private let hasher = TreeHasher()
    /// The latest verified receipt, and its walk before each step and at the end.
    private var last: SignedLeaf?
    private var lastWalk: [InclusionWalk] = []
    /// The walk of the receipt that is being verified, before each step.
    private var walked: [InclusionWalk] = []

    package init() {}

    /// Verifies that the server named in the receipt has signed it unchanged. The caller decides whether that server is
    /// trusted.
    ///
    /// - Throws: `notSigned` if the signature is invalid.
    package func verify(_ signed: SignedReceipt) throws(ReceiptFault) {
        let proof = ReceiptProof(
            index: signed.index, treeSize: signed.treeSize, inclusion: signed.inclusion, signature: signed.signature)
        try verify(SignedLeaf(text: signed.text, proof: proof, signer: signed.receipt.server, subject: .uploads))
    }

    /// Verifies that the recipient's key named in the receipt has signed it unchanged. The caller decides to whom the
    /// key belongs.
    ///
    /// - Throws: `notSigned` if the signature is invalid.
    package func verify(_ signed: SignedDeliveryReceipt) throws(ReceiptFault) {
        try verify(
            SignedLeaf(
                text: signed.text, proof: signed.proof, signer: signed.receipt.recipient, subject: .deliveries))
    }

    private func verify(_ leaf: SignedLeaf) throws(ReceiptFault) {
        let proof = leaf.proof
        guard
            var walk = InclusionWalk(from: hasher.leaf(leaf.text), index: proof.index, treeSize: proof.treeSize)
        else { throw .notSigned }
        let fellow = last.flatMap { $0.sharesSignature(with: leaf) ? $0.proof : nil }
        walked.removeAll(keepingCapacity: true)
        for (number, sibling) in proof.inclusion.enumerated() {
            if let fellow, let joint = joint(of: walk, proof.inclusion[number...], with: fellow) {
                lastWalk.replaceSubrange(..<joint, with: walked)
                last = leaf
                return
            }
            walked.append(walk)
            guard walk.step(sibling, hasher) else { throw .notSigned }
        }
        guard walk.isAtRoot else { throw .notSigned }
        // The signature over the same root was verified before.
        if fellow == nil || lastWalk.last?.hash != walk.hash {
            let message = TreeHead(size: proof.treeSize, root: walk.hash).message(leaf.subject)
            guard leaf.signer.verifies(proof.signature, of: message) else { throw .notSigned }
        }
        walked.append(walk)
        swap(&walked, &lastWalk)
        last = leaf
    }

    /// The height at which the latest verified receipt of the batch passed the same node as `walk`, if both paths are
    /// equal from that node on; otherwise nil.
    private func joint(of walk: InclusionWalk, _ path: ArraySlice<Bytes32>, with fellow: ReceiptProof) -> Int? {
        let done = fellow.inclusion.count - path.count
        // Trap: `lastWalk` has one step for each hash of `fellow` and one more.
        guard done >= 0, lastWalk[done] == walk, fellow.inclusion[done...] == path else { return nil }
        return done
    }
}

/// A receipt of either kind, reduced to what verification needs.
private struct SignedLeaf {
    let text: [UInt8]
    let proof: ReceiptProof
    let signer: PublicKey
    let subject: ReceiptSubject

    func sharesSignature(with other: SignedLeaf) -> Bool {
        subject == other.subject && signer == other.signer && proof.treeSize == other.proof.treeSize
            && proof.signature == other.proof.signature
    }
}
