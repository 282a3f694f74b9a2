internal import CLinux

/// The events of a descriptor that epoll has reported.
struct Readiness: OptionSet {
    let rawValue: UInt8
    static let readable = Readiness(rawValue: 1)
    static let writable = Readiness(rawValue: 2)
    /// An error or a hang-up; the next call that reads or writes shows which.
    static let failed = Readiness(rawValue: 4)
}

/// The events of a descriptor that a loop reports, at each change. Errors and hang-ups are always reported.
struct Interest: OptionSet {
    let rawValue: UInt8
    /// Bytes or a connection can be read.
    static let input = Interest(rawValue: 1)
    /// The kernel accepts bytes to send.
    static let output = Interest(rawValue: 2)

    /// The events as epoll's flags.
    var events: UInt32 {
        var events = EPOLLET.rawValue
        if contains(.input) { events |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
        if contains(.output) { events |= EPOLLOUT.rawValue }
        return events
    }
}

extension Readiness {
    init(epoll events: UInt32) {
        self = []
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { insert(.readable) }
        if events & EPOLLOUT.rawValue != 0 { insert(.writable) }
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { insert(.failed) }
    }
}
