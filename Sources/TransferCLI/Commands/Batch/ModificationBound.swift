private import CLinux
private import Glibc
private import TransferModel
private import TransferSystem

/// The time that `--newer` gives: a duration before now, a date, or the modification time of a file.
struct ModificationBound: Equatable {
    /// Seconds since 1970, rounded down.
    let seconds: Int64

    /// Nanoseconds within the second, 0 to 999,999,999.
    let nanoseconds: UInt32

    /// - Parameter now: nanoseconds since 1970.
    /// - Throws: `Fault` if the text has none of these forms.
    init(_ text: String, now: Int64) throws(Fault) {
        if let time = Self.duration(text).map({ now - Int64($0 * 1e9) }) {
            let (seconds, nanoseconds) = time.quotientAndRemainder(dividingBy: 1_000_000_000)
            self.init(
                seconds: seconds - (nanoseconds < 0 ? 1 : 0), nanoseconds: (nanoseconds + 1_000_000_000) % 1_000_000_000
            )
        } else if let seconds = WrittenTime(text).flatMap(Self.seconds) {
            self.init(seconds: seconds, nanoseconds: 0)
        } else {
            var status = stat()
            guard stat(text, &status) == 0 else {
                throw Fault(message: "is not a duration, a date or a file: \(String(cString: strerror(errno)))")
            }
            self.init(seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec))
        }
    }

    private init(seconds: Int64, nanoseconds: Int64) {
        self.seconds = seconds
        self.nanoseconds = UInt32(min(max(0, nanoseconds), 999_999_999))
    }

    /// The reason why a value is invalid, as a phrase that follows the value in a message.
    struct Fault: Error {
        let message: String
    }

    /// Seconds since 1970; nil for a time that does not exist. A time without `Z` is local, and clocks that are put
    /// forward skip some local times.
    private static func seconds(_ time: WrittenTime) -> Int64? {
        switch time.precision {
        case .fraction: return nil
        case _ where time.isUTC: return time.calendar.secondsSince1970
        case .day, .minute, .second: break
        }
        let wanted = tm(local: time.calendar)
        var fields = wanted
        let seconds = mktime(&fields)
        // mktime(3) changes a time that does not exist to one that does, so the result must have the same day, month
        // and minute. The hour may change, because of daylight saving time.
        guard
            (fields.tm_mon, fields.tm_mday, fields.tm_min, fields.tm_sec)
                == (wanted.tm_mon, wanted.tm_mday, wanted.tm_min, wanted.tm_sec)
        else { return nil }
        return Int64(seconds)
    }

    /// The seconds of a duration, which needs its unit here: a plain number may just as well be a year, or the name of
    /// a file.
    private static func duration(_ text: String) -> Double? {
        guard let last = text.utf8.last, last > UInt8(ascii: "9") else { return nil }
        return try? DurationNotation.seconds(text)
    }
}

extension tm {
    fileprivate init(local time: CalendarTime) {
        self.init()
        (tm_year, tm_mon, tm_mday) = (Int32(time.year) - 1900, Int32(time.month) - 1, Int32(time.day))
        (tm_hour, tm_min, tm_sec, tm_isdst) = (Int32(time.hour), Int32(time.minute), Int32(time.second), -1)
    }
}
