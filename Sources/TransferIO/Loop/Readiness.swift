internal import CLinux

/// What epoll said about a descriptor.
struct Readiness: OptionSet {
    let rawValue: UInt8
    static let readable = Readiness(rawValue: 1)
    static let writable = Readiness(rawValue: 2)
    /// An error or a hang-up: reading and writing will tell which.
    static let failed = Readiness(rawValue: 4)
}

/// What a loop is to tell of a descriptor, at each change. Errors and hang-ups it always does.
struct Interest: OptionSet {
    let rawValue: UInt8
    /// There is something to read.
    static let input = Interest(rawValue: 1)
    /// There is room for what is written.
    static let output = Interest(rawValue: 2)

    /// For epoll.
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
