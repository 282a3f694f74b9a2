/// Verifies receipts that come one after the other. Those of one batch share their signature and most of their way to
/// the root, so each costs little more than the hash of its text.
///
/// It belongs to one task at a time.
package final class ReceiptVerifier {
    private let hasher = TreeHasher()
    private var last: Proven?

    /// A receipt that was found good, and every node on its way: before step `n` it was at `walk[n]`.
    fileprivate struct Proven {
        let signed: SignedReceipt
        let walk: [InclusionWalk]
    }

    package init() {}

    /// Whether the server that the receipt names has given it, and as it stands. Whether that is a server to be trusted
    /// is the caller's question.
    ///
    /// - Throws: `notSigned`.
    package func verify(_ signed: SignedReceipt) throws(ReceiptFault) {
        let leaf = hasher.leaf(signed.text)
        let proven = last.flatMap { $0.signed.sharesSignature(with: signed) ? $0 : nil }
        guard var walk = InclusionWalk(from: leaf, index: signed.index, treeSize: signed.treeSize) else {
            throw .notSigned
        }
        var steps = [walk]
        for (number, sibling) in signed.inclusion.enumerated() {
            if let rest = proven?.continuation(of: walk, signed.inclusion[number...]) {
                last = Proven(signed: signed, walk: steps.dropLast() + rest)
                return
            }
            guard walk.step(sibling, hasher) else { throw .notSigned }
            steps.append(walk)
        }
        guard walk.isAtRoot else { throw .notSigned }
        // Of one batch with the last good one, so its signature needs no second look.
        if proven?.walk.last?.hash != walk.hash {
            let message = SignedReceipt.signedMessage(treeSize: signed.treeSize, root: walk.hash)
            guard signed.receipt.server.verifies(signed.signature, of: message) else { throw .notSigned }
        }
        last = Proven(signed: signed, walk: steps)
    }
}

extension ReceiptVerifier.Proven {
    /// The rest of the way to the root, when that of the good one came through the same node and went on alike.
    fileprivate func continuation(of step: InclusionWalk, _ path: ArraySlice<Bytes32>) -> ArraySlice<InclusionWalk>? {
        let done = signed.inclusion.count - path.count
        guard done >= 0, walk[done] == step, signed.inclusion[done...] == path else { return nil }
        return walk[done...]
    }
}

extension SignedReceipt {
    fileprivate func sharesSignature(with other: SignedReceipt) -> Bool {
        treeSize == other.treeSize && receipt.server == other.receipt.server && signature == other.signature
    }
}
