import TransferKeys

/// Verifies receipts that come one after the other. Those of one batch share their signature and most of their way to
/// the root, so each costs little more than the hash of its text.
///
/// It belongs to one task at a time.
package final class ReceiptVerifier {
    private let hasher = TreeHasher()
    /// The last receipt that was found good, and how far it was before each step on its way and at the end of it.
    private var last: SignedLeaf?
    private var lastWalk: [InclusionWalk] = []
    /// The same of the one that is being verified.
    private var walked: [InclusionWalk] = []

    package init() {}

    /// Whether the server that the receipt names has given it, and as it stands. Whether that is a server to be trusted
    /// is the caller's question.
    ///
    /// - Throws: `notSigned`.
    package func verify(_ signed: SignedReceipt) throws(ReceiptFault) {
        let proof = ReceiptProof(
            index: signed.index, treeSize: signed.treeSize, inclusion: signed.inclusion, signature: signed.signature)
        try verify(SignedLeaf(text: signed.text, proof: proof, signer: signed.receipt.server, subject: .uploads))
    }

    /// Whether the recipient that the receipt names has signed it, and as it stands. Whose key that is, is the caller's
    /// question.
    ///
    /// - Throws: `notSigned`.
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
        // The signature over the same root needs no second look.
        if fellow == nil || lastWalk.last?.hash != walk.hash {
            let message = TreeHead(size: proof.treeSize, root: walk.hash).message(leaf.subject)
            guard leaf.signer.verifies(proof.signature, of: message) else { throw .notSigned }
        }
        walked.append(walk)
        swap(&walked, &lastWalk)
        last = leaf
    }

    /// Where the way of a good receipt of the same batch came through the same node, if it went on alike from there.
    private func joint(of walk: InclusionWalk, _ path: ArraySlice<Bytes32>, with fellow: ReceiptProof) -> Int? {
        let done = fellow.inclusion.count - path.count
        // Trap: `lastWalk` has one step for each hash of `fellow` and one more.
        guard done >= 0, lastWalk[done] == walk, fellow.inclusion[done...] == path else { return nil }
        return done
    }
}

/// A receipt of either kind as its verification sees it.
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
