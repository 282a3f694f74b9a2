package import TransferClassic

/// What is spoken to a server from before this protocol; `docs/DIALECTS.md` describes it.
package struct ClassicTarget: Sendable {
    /// Bytes of a stream that are held where the framing says the size first.
    package static let mostHeld = 16 << 20

    /// Any but `text`.
    package var framing: ClassicFraming

    /// What this client calls itself, where the framing says it: UTF-8 of 1 to 255 bytes without NUL.
    package var sender: String

    /// Whom it is for, where the framing says it: the same, or empty.
    package var recipient: String

    /// Whether what shrinks is sent compressed; for `header7` only.
    package var isCompressed: Bool

    /// Whether it may travel in the clear to other machines: no classic framing knows encryption.
    package var isBeyondThisMachine: Bool

    package init(
        _ framing: ClassicFraming, sender: String = "transfer", recipient: String = "", isCompressed: Bool = false,
        isBeyondThisMachine: Bool = false
    ) {
        (self.framing, self.sender, self.recipient) = (framing, sender, recipient)
        (self.isCompressed, self.isBeyondThisMachine) = (isCompressed, isBeyondThisMachine)
    }

    /// Framings that this client can speak. Texts of `text` are typed by people, and nothing tells what became of one.
    package static let spoken = ClassicFraming.all.filter { $0 != .text }

    /// Whether the size of an upload has to be known when it begins.
    var wantsSize: Bool {
        switch framing {
        case .sized, .jsonline, .text: true
        case .header7, .tagged37: false
        }
    }

    /// Whether the other side says what became of an upload.
    package var isAnswered: Bool {
        switch framing {
        case .sized(_, let isAnswered): isAnswered
        case .header7, .tagged37: true
        case .jsonline, .text: false
        }
    }
}
