import TransferKeys

/// Verifies receipts that come one after the other. Those of one batch share their signature and most of their way to
/// the root, so each costs little more than the hash of its text.
///
/// It belongs to one task at a time.
package final class ReceiptVerifier {
    private let hasher = TreeHasher()
    /// The last receipt that was found good, and how far it was before each step on its way and at the end of it.
    private var last: SignedReceipt?
    private var lastWalk: [InclusionWalk] = []
    /// The same of the one that is being verified.
    private var walked: [InclusionWalk] = []

    package init() {}

    /// Whether the server that the receipt names has given it, and as it stands. Whether that is a server to be trusted
    /// is the caller's question.
    ///
    /// - Throws: `notSigned`.
    package func verify(_ signed: SignedReceipt) throws(ReceiptFault) {
        let leaf = hasher.leaf(signed.text)
        guard var walk = InclusionWalk(from: leaf, index: signed.index, treeSize: signed.treeSize) else {
            throw .notSigned
        }
        let fellow = last.flatMap { $0.sharesSignature(with: signed) ? $0 : nil }
        walked.removeAll(keepingCapacity: true)
        for (number, sibling) in signed.inclusion.enumerated() {
            if let fellow, let joint = joint(of: walk, signed.inclusion[number...], with: fellow) {
                lastWalk.replaceSubrange(..<joint, with: walked)
                last = signed
                return
            }
            walked.append(walk)
            guard walk.step(sibling, hasher) else { throw .notSigned }
        }
        guard walk.isAtRoot else { throw .notSigned }
        // The signature over the same root needs no second look.
        if fellow == nil || lastWalk.last?.hash != walk.hash {
            let message = SignedReceipt.signedMessage(treeSize: signed.treeSize, root: walk.hash)
            guard signed.receipt.server.verifies(signed.signature, of: message) else { throw .notSigned }
        }
        walked.append(walk)
        swap(&walked, &lastWalk)
        last = signed
    }

    /// Where the way of a good receipt of the same batch came through the same node, if it went on alike from there.
    private func joint(of walk: InclusionWalk, _ path: ArraySlice<Bytes32>, with fellow: SignedReceipt) -> Int? {
        let done = fellow.inclusion.count - path.count
        // Trap: `lastWalk` has one step for each hash of `fellow` and one more.
        guard done >= 0, lastWalk[done] == walk, fellow.inclusion[done...] == path else { return nil }
        return done
    }
}

extension SignedReceipt {
    fileprivate func sharesSignature(with other: SignedReceipt) -> Bool {
        treeSize == other.treeSize && receipt.server == other.receipt.server && signature == other.signature
    }
}
